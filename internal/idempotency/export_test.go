package idempotency

// ArchiveExpired is for a test of its plan.
const ArchiveExpired = archiveExpired

// ResolveCommitOn is ResolveCommit on a connection, which may be in a transaction.
var ResolveCommitOn = resolveCommit
