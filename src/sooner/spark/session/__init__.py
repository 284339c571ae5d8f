"""What runs in the driver: the session, the running query, and the pacemaker that keeps its batches coming."""
