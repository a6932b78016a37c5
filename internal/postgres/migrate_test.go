package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// chapters are two migrations, of which the first makes a role of the whole cluster.
func chapters(role string) fstest.MapFS {
	return fstest.MapFS{
		"000001_people.up.sql": {Data: []byte(`
			DO $$ BEGIN
				IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '` + role + `') THEN
					PERFORM pg_sleep(0.02); -- long enough for another to do the same
					CREATE ROLE ` + role + ` NOLOGIN;
				END IF;
			END $$;
			CREATE TABLE people (name text);
			GRANT SELECT ON people TO ` + role)},
		"000002_pets.up.sql": {Data: []byte(`CREATE TABLE pets (name text) -- and nothing after this remark`)},
	}
}

// emptyDatabase is one without a schema, on the tests' server.
func emptyDatabase(t *testing.T, server *pgtest.DB, name string) (address string) {
	t.Helper()
	_, err := server.Pool.Exec(t.Context(), `CREATE DATABASE `+name+` TEMPLATE template0 STRATEGY file_copy`)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := server.Pool.Exec(context.Background(), `DROP DATABASE `+name+` WITH (FORCE)`)
		if err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// unique is a name for this run of the test on a server that others may use too.
func unique(t *testing.T, server *pgtest.DB, suffix string) string {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path[len(u.Path)-10:] + "x_" + suffix // the random end of the database's name
}

func mustStand(t *testing.T, address string, chapters fs.FS, want postgres.Status) {
	t.Helper()
	got, err := postgres.MigrationStatusFrom(t.Context(), address, chapters)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the database stands at %+v, want %+v", got, want)
	}
}

func exists(t *testing.T, address, table string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var found bool
	err = conn.QueryRow(t.Context(), `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&found)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMigrate(t *testing.T) {
	t.Parallel()

	type bundle struct {
		server   *pgtest.DB
		url      string
		chapters fstest.MapFS
	}
	setup := func(t *testing.T) *bundle {
		t.Helper()
		server := pgtest.New(t)
		role := "role_" + unique(t, server, "role")
		t.Cleanup(func() {
			// runs after the databases are gone
			_, _ = server.Pool.Exec(context.Background(), `DROP ROLE IF EXISTS `+role)
		})
		return &bundle{
			server:   server,
			url:      emptyDatabase(t, server, "m_"+unique(t, server, "one")),
			chapters: chapters(role),
		}
	}

	t.Run("up, and there is nothing more to do", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		mustStand(t, b.url, b.chapters, postgres.Status{Version: 0, Latest: 2})

		for range 2 {
			err := postgres.MigrateUpFrom(t.Context(), b.url, b.chapters)
			if err != nil {
				t.Fatal(err)
			}
			mustStand(t, b.url, b.chapters, postgres.Status{Version: 2, Latest: 2})
		}
	})

	t.Run("a chapter that fails leaves nothing of itself and can be repaired", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		good := b.chapters["000002_pets.up.sql"]
		b.chapters["000002_pets.up.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE pets (name text); SELECT 1/0;`)}

		err := postgres.MigrateUpFrom(t.Context(), b.url, b.chapters)
		if err == nil {
			t.Fatal("no error")
		}
		mustStand(t, b.url, b.chapters, postgres.Status{Version: 1, Latest: 2})
		if exists(t, b.url, "pets") {
			t.Error("half of the failed chapter is there")
		}

		b.chapters["000002_pets.up.sql"] = good
		err = postgres.MigrateUpFrom(t.Context(), b.url, b.chapters)
		if err != nil {
			t.Fatal(err)
		}
		mustStand(t, b.url, b.chapters, postgres.Status{Version: 2, Latest: 2})
	})

	t.Run("many at once on one database take turns", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		atOnce(t, 6, func(int) error { return postgres.MigrateUpFrom(t.Context(), b.url, b.chapters) })
		mustStand(t, b.url, b.chapters, postgres.Status{Version: 2, Latest: 2})
	})

	t.Run("many databases of one cluster can be built at once although they share roles", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var urls []string
		for i := range 4 {
			urls = append(urls, emptyDatabase(t, b.server, "m_"+unique(t, b.server, fmt.Sprint("many_", i))))
		}
		atOnce(t, len(urls), func(i int) error { return postgres.MigrateUpFrom(t.Context(), urls[i], b.chapters) })
		for _, url := range urls {
			mustStand(t, url, b.chapters, postgres.Status{Version: 2, Latest: 2})
		}
	})

	t.Run("a canceled context ends the wait for another's migration", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := postgres.MigrateUpFrom(ctx, b.url, b.chapters)
		if err == nil {
			t.Error("no error")
		}
		mustStand(t, b.url, b.chapters, postgres.Status{Version: 0, Latest: 2})
	})

}

// Development versions before the baseline recorded the versions of other chapters.
func TestADatabaseFromBeforeTheBaselineIsRefused(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"schema_migrations", "schema_version"} {
		t.Run("with its version in "+table, func(t *testing.T) {
			t.Parallel()
			server := pgtest.New(t)
			old := emptyDatabase(t, server, "m_"+unique(t, server, "old"))
			conn, err := pgx.Connect(t.Context(), old)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			_, err = conn.Exec(t.Context(), fmt.Sprintf(`
					CREATE TABLE %[1]s (version bigint PRIMARY KEY, dirty boolean NOT NULL);
					INSERT INTO %[1]s VALUES (3, false);
					CREATE TABLE accounts (id text PRIMARY KEY);
					INSERT INTO accounts VALUES ('acct_1')`, table))
			if err != nil {
				t.Fatal(err)
			}

			const sentence = "this database was made by an earlier development version and cannot " +
				"be upgraded: use a new database, or start the demo with ratchet demo --fresh (make demo ARGS=--fresh)"
			for range 2 { // a refusal leaves nothing behind that the next look could mistake for a baseline
				err = postgres.Migrate(t.Context(), old)
				if !errors.Is(err, postgres.ErrBeforeBaseline) || err.Error() != sentence {
					t.Errorf("the migration ends with %v", err)
				}
				_, err = postgres.MigrationStatus(t.Context(), old)
				if !errors.Is(err, postgres.ErrBeforeBaseline) {
					t.Errorf("its status is %v", err)
				}
			}
			if exists(t, old, "schema_revision") || exists(t, old, "charges") {
				t.Error("the refusal changed the schema")
			}
			var accounts int
			err = conn.QueryRow(t.Context(), `SELECT count(*) FROM accounts`).Scan(&accounts)
			if err != nil || accounts != 1 {
				t.Errorf("%d accounts are left, %v", accounts, err)
			}
		})
	}

	t.Run("but not one of ours on which an old program has tried its migrations", func(t *testing.T) {
		db := pgtest.New(t)
		_, err := db.Pool.Exec(t.Context(),
			`CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL)`)
		if err != nil {
			t.Fatal(err)
		}
		if err := postgres.Migrate(t.Context(), db.URL); err != nil {
			t.Error(err)
		}
	})
}

func TestASchemaOfALaterProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `UPDATE schema_revision SET version = version + 1`)
	if err != nil {
		t.Fatal(err)
	}
	err = postgres.Migrate(t.Context(), db.URL)
	if err != nil {
		t.Error(err)
	}
	status, err := postgres.MigrationStatus(t.Context(), db.URL)
	if err != nil || status.Version != status.Latest+1 {
		t.Errorf("the database stands at %+v, %v", status, err)
	}
}

func atOnce(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := do(i)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
