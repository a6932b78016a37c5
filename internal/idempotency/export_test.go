package idempotency

// ArchiveExpired is for a test of its plan.
const ArchiveExpired = archiveExpired
