"""The lab: joins in simulated time, on simulated disks, and the experiments of the papers."""
