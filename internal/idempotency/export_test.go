package idempotency

// ArchiveExpired is for a test of its plan.
const ArchiveExpired = archiveExpired

// EstablishOn is Establish on a connection, which may be in a transaction.
var EstablishOn = establish
