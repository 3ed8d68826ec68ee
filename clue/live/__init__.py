"""Programs that run live in virtual time: their processes, and the kernel that lets one go on at a time."""
