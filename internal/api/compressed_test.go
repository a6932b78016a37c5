package api_test

import "testing"

// A response and its event are copies of one object, and most of what a charge takes on
// the disk. Where the server has LZ4 they are compressed, and stay in their rows.
func TestResponsesAndEventsAreCompressed(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	var lz4 bool
	s.query(t, `SELECT EXISTS (SELECT FROM pg_settings
		WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals))`, &lz4)
	s.make(t, "toboggans", "/v1/charges", "amount=2000&currency=usd&source=tok_visa")

	for of, sql := range map[string]string{
		"response": `SELECT coalesce(pg_column_compression(body), ''), pg_relation_size(c.reltoastrelid)
			FROM answers, pg_class c WHERE c.oid = 'answers'::regclass`,
		"event": `SELECT coalesce(pg_column_compression(data), ''), pg_relation_size(c.reltoastrelid)
			FROM events e JOIN pg_class c ON c.oid = e.tableoid`,
	} {
		var method string
		var outside int64
		s.query(t, sql, &method, &outside)
		if want := map[bool]string{true: "lz4"}[lz4]; method != want {
			t.Errorf("the %s is compressed with %q, want %q", of, method, want)
		}
		if outside != 0 {
			t.Errorf("the %s was moved out of its row", of)
		}
	}
}

func (s *env) query(t *testing.T, sql string, into ...any) {
	t.Helper()
	if err := s.db.Pool.QueryRow(t.Context(), sql).Scan(into...); err != nil {
		t.Fatal(err)
	}
}
