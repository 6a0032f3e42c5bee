"""What tests share: data and models made for them, processes, and tables of what must never change."""
