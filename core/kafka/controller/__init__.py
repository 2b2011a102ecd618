"""The controller: who is alive, who leads, which ISR is committed; and the metadata log that tells the brokers."""
