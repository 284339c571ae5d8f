"""A real browser without a window: Debian's Chromium, driven by Selenium, which keeps what it complained of."""

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from patience import until

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="There is no Chromium here; on Debian run: apt-get install chromium chromium-driver",
)
QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)


class Browser:
    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver
        self._asked: list[str] = []

    def open(self, url: str, width: int = 1400, height: int = 1400, scheme: str = "light") -> None:
        """A page with a window of this size inside, and the scheme of colours that its user likes."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.prefer(scheme)
        self.driver.get(url)

    def prefer(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def tile(self, name: str) -> str:
        """The figure in one of the tiles on top."""
        found = "[...document.querySelectorAll('.tile')].find(t => t.firstChild.textContent === arguments[0])"
        return str(self.run(f"return {found}?.querySelector('p').textContent ?? ''", name))

    def panels(self) -> list[str]:
        """The titles of those that can be seen."""
        shown = "[...document.querySelectorAll('.panel')].filter(panel => !panel.hidden)"
        return list(self.run(f"return {shown}.map(panel => panel.firstChild.textContent)"))

    def number(self, name: str) -> int:
        digits = self.tile(name).replace(",", "")
        return int(digits) if digits.isdecimal() else 0

    def click(self, label: str) -> None:
        script = "[...document.querySelectorAll('button')].find(b => b.textContent === arguments[0]).click()"
        self.run(script, label)

    def slide(self, share: float) -> None:
        """Move the slider of the time there."""
        self.run(
            "const s = document.getElementById('slider'); s.value = arguments[0] * s.max;"
            "s.dispatchEvent(new Event('input', { bubbles: true }))",
            share,
        )

    def ends(self) -> None:
        """Wait until the page says that all is over."""
        until(lambda: self.run("return document.getElementById('status').dataset.state") == "over")

    def picture(self, file: Path) -> None:
        """All of the page, however long it is."""
        self.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        shot = {"captureBeyondViewport": True, "format": "png"}
        file.write_bytes(base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", shot)["data"]))

    def hosts(self) -> set[str]:
        """All hosts that anything was asked of since it was last asked for."""
        found = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("data:", "chrome:", "about:")):
                    found.add(url.split("/")[2].split(":")[0])
        return found

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def opened_browser() -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in QUIET:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
