"""Compiles the loops of `sooner.kernels` with Zig's C compiler, which comes from PyPI: no machine must have one."""

import platform
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# The oldest processors and C library of their kind: a wheel that is made here runs elsewhere, and says so.
GLIBC = "2.17"
FLAGS = [
    "-O3",
    "-std=c11",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-mcpu=baseline",
    "-fno-sanitize=undefined",
    "-s",
]
TARGET = ["-target", f"{platform.machine()}-linux-gnu.{GLIBC}"] if sys.platform == "linux" else []


class Compile(build_ext):
    def get_ext_filename(self, fullname: str) -> str:
        """Loaded by its path, so its name says nothing of a Python."""
        return f"{fullname.replace('.', '/')}.so"

    def build_extension(self, extension: Extension) -> None:
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *TARGET, "-o", str(target), *extension.sources]
        subprocess.run(command, check=True)


class Wheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        """For any Python 3, on machines like this one."""
        machines = super().get_tag()[2]
        if sys.platform == "linux":
            machines = f"manylinux_{GLIBC.replace('.', '_')}_{platform.machine()}"
        return "py3", "none", machines


setup(
    ext_modules=[Extension("sooner.kernels.native.kernels", ["src/sooner/kernels/native/kernels.c"])],
    cmdclass={"build_ext": Compile, "bdist_wheel": Wheel},
)
