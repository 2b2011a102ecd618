"""The transaction coordinator, which is the part of a broker that keeps the state of transactions in `__transaction_state` (Kafka:
`TransactionCoordinator`)."""
