"""Where the runs of a search are played: in processes of this machine, on other machines, or beside a session that goes on."""
