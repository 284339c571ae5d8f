"""How rows reach a task: tagged, in shared columns, placed by their key."""
