package postgres

import (
	"fmt"
	"io"
	"strings"

	"github.com/golang-migrate/migrate/v4/database"
)

// atomicDriver makes a chapter and the record that it was applied one
// transaction.
//
// The library marks the version dirty, runs the file, and unmarks it: three
// commits, and a crash between them leaves a database that only a person can
// judge. PostgreSQL can do better, because its DDL is transactional and the
// statements of one simple query are one transaction: we leave out the mark
// and append the version to the file. A file therefore must not contain COMMIT
// or anything that refuses to run in a transaction.
type atomicDriver struct {
	database.Driver
	next int // the version that the file about to run leads to
}

// SetVersion is called before the file with dirty, and after it without.
func (d *atomicDriver) SetVersion(version int, dirty bool) error {
	if dirty {
		d.next = version
		return nil
	}
	return d.Driver.SetVersion(version, false)
}

// Run sends the file and its version as one simple query.
func (d *atomicDriver) Run(file io.Reader) error {
	const record = `
;
DELETE FROM schema_revision;
INSERT INTO schema_revision (version, dirty) VALUES (%d, false);
`
	return d.Driver.Run(io.MultiReader(file, strings.NewReader(fmt.Sprintf(record, d.next))))
}
