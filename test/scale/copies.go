package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
)

// This file turns the rows of one story into those of many: it reads them by COPY,
// finds in their text what names something (ids, derived keys, times, books), and
// writes them by COPY with other names, each copy at another time. It knows the
// tables from the catalog; what it has to know about single columns is below.

// Columns that are not copied, because their default is right.
var byDefault = map[string][]string{
	"audit_events":    {"xid", "cluster"}, // of the transaction that writes the copy
	"acquirer.outbox": {"number"},
}

// numbered are columns of integers that name a row.
var numbered = map[string]string{
	"book_id": "book", "ledger_books.id": "book",
	"acquirer.movements.number": "movement", "acquirer.settled.movement": "movement",
}

// recomputed are columns that follow from others of their row.
var recomputed = map[string]func(row map[string]string) string{
	"audit_events.commitment": func(row map[string]string) string {
		return digest(plain(row["salt"]),
			plain(row["details"]))
	},
	"api_keys.hash": func(row map[string]string) string { return digest([]byte(row["id"])) },
}

func digest(parts ...[]byte) string {
	sum := sha256.Sum256(bytes.Join(parts, nil))
	return `\\x` + hex.EncodeToString(sum[:])
}

// notCopied are tables that the program fills itself once the copies are there, or
// that say what runs.
var notCopied = []string{"audit_blocks", "audit_detachments", "ledger_periods", "ledger_period_sums",
	"counted", "charge_days", "charges_to_count", "attempt_days", "attempts_to_count", "swept_before",
	"search_blocks", "search_changes",
	"archived_answers", "workers", "root_secrets",
	"flows", "recovery_points", "schema_revision", "settlement_differences", "acquirer.schema_migrations"}

const listColumns = `
	SELECT CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END AS table,
	  a.attname AS column, format_type(a.atttypid, NULL) AS type
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE n.nspname IN ('public', 'acquirer') AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
	  AND NOT a.attisdropped AND a.attgenerated = ''
	ORDER BY 1, a.attnum`

type column struct{ Table, Column, Type string }

// table is what a story has in one table.
type table struct {
	name    string
	columns []string
	rows    []row
}

// row is one line of COPY, cut where it differs from copy to copy.
type row struct {
	fields [][]piece
	setUp  bool // it belongs to the account, and not to the day
}

// piece is a stretch of text, and what kind of thing it names.
type piece struct {
	kind kind
	text string
	at   time.Time // of a moment or an id
	n    int64     // of a number
	of   []piece   // what a digest is of, or the ID of the key that has the hash
	said [][]piece // what the digest of an answer is of, value by value
}

type kind int

const (
	same     kind = iota
	name          // an id
	derived       // a key at the acquirer
	moment        // timestamptz
	seconds       // since 1970, in JSON
	book          // number of a book
	movement      // number of a movement
	ownKey        // an idempotency key that is not an ID
	digested      // SHA-256 of a message, in any table
	answered      // SHA-256 of a request and its answer
	keyed         // hash of an API key, as the audit trail writes it
	computed      // from the row's other columns
)

// reader reads a story's rows.
type reader struct {
	conn   *pgx.Conn
	oldest time.Time       // nothing in the story is older: ids whose time is are none
	setUp  map[string]bool // ids that were there before the day

	keys     map[string]string   // IDs of API keys by their hashes in hexadecimal
	messages map[string]string   // bodies from the inbox by their digests, both as COPY writes them
	answers  map[string][]string // the values of answeredColumns by their digests in the audit trail
}

// answeredColumns are what the audit trail's digest of an answer covers, in its order
// (internal/audit/answer.go:AnswerDigest).
var answeredColumns = []column{
	{"requests", "account_id", "text"}, {"requests", "id", "text"}, {"requests", "livemode", "text"},
	{"requests", "key", "text"}, {"requests", "key_generated", "text"}, {"requests", "method", "text"},
	{"requests", "path", "text"}, {"requests", "fingerprint", "bytea"}, {"requests", "fingerprint_version", "text"},
	{"requests", "params", "json"}, {"requests", "context", "json"}, {"requests", "flow", "text"},
	{"requests", "version", "text"}, {"answers", "status", "text"}, {"answers", "headers", "json"},
	{"answers", "body", "bytea"}, {"answers", "object_id", "text"},
}

func tables(ctx context.Context, conn *pgx.Conn) (map[string][]column, error) {
	rows, err := conn.Query(ctx, listColumns)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[column])
	if err != nil {
		return nil, err
	}
	of := map[string][]column{}
	for _, c := range all {
		if !slices.Contains(notCopied, c.Table) && !slices.Contains(byDefault[c.Table], c.Column) {
			of[c.Table] = append(of[c.Table], c)
		}
	}
	return of, nil
}

// read returns every table that has rows.
func (r *reader) read(ctx context.Context) (all []table, err error) {
	known, err := tables(ctx, r.conn)
	if err != nil {
		return nil, err
	}
	// Text in bytea stays text, and times have one shape.
	if _, err := r.conn.Exec(ctx,
		"SET bytea_output = 'escape'; SET timezone = 'UTC'; SET datestyle = 'ISO'"); err != nil {
		return nil, err
	}
	if err := r.readKeys(ctx, known); err != nil {
		return nil, err
	}
	if err := r.readMessages(ctx, known); err != nil {
		return nil, err
	}
	if err := r.readAnswers(ctx, known); err != nil {
		return nil, err
	}
	for name, columns := range known {
		t := table{name: name}
		for _, c := range columns {
			t.columns = append(t.columns, c.Column)
		}
		var out bytes.Buffer
		query := "COPY (SELECT " + quoted(t.columns) + " FROM " + name + ") TO STDOUT"
		if _, err := r.conn.PgConn().CopyTo(ctx, &out, query); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for line := range strings.Lines(out.String()) {
			t.rows = append(t.rows, r.parse(columns, strings.TrimSuffix(line, "\n")))
		}
		if len(t.rows) > 0 {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b table) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

func (r *reader) readKeys(ctx context.Context, known map[string][]column) error {
	r.keys = map[string]string{}
	if known["api_keys"] == nil {
		return nil // the acquirer's database has none
	}
	rows, err := r.conn.Query(ctx, "SELECT encode(hash, 'hex'), id FROM api_keys")
	if err != nil {
		return fmt.Errorf("read api_keys: %w", err)
	}
	var hash, id string
	_, err = pgx.ForEachRow(rows, []any{&hash, &id}, func() error {
		r.keys[hash] = id
		return nil
	})
	return err
}

func (r *reader) readMessages(ctx context.Context, known map[string][]column) error {
	r.messages = map[string]string{}
	if known["inbox"] == nil {
		return nil // the acquirer's database has none
	}
	var out bytes.Buffer
	if _, err := r.conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT digest, body FROM inbox) TO STDOUT"); err != nil {
		return fmt.Errorf("read inbox: %w", err)
	}
	for line := range strings.Lines(out.String()) {
		digest, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		r.messages[digest] = body
	}
	return nil
}

func (r *reader) readAnswers(ctx context.Context, known map[string][]column) error {
	r.answers = map[string][]string{}
	if known["answers"] == nil {
		return nil // the acquirer's database has none
	}
	query := "COPY (SELECT audit_events.answer_digest"
	for _, c := range answeredColumns {
		value := c.Table + "." + c.Column
		if c.Type == "text" {
			value = "coalesce(" + value + "::text, '')"
		}
		query += ", " + value
	}
	query += ` FROM audit_events JOIN requests ON requests.account_id = audit_events.account_id
		    AND requests.id = audit_events.request_id AND requests.flow = audit_events.operation
		JOIN answers ON answers.account_id = requests.account_id AND answers.request_id = requests.id) TO STDOUT`
	var out bytes.Buffer
	if _, err := r.conn.PgConn().CopyTo(ctx, &out, query); err != nil {
		return fmt.Errorf("read answers: %w", err)
	}
	for line := range strings.Lines(out.String()) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		r.answers[values[0]] = values[1:]
	}
	return nil
}

func quoted(columns []string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = pgx.Identifier{c}.Sanitize()
	}
	return strings.Join(out, ", ")
}

func (r *reader) parse(columns []column, line string) row {
	parsed := row{setUp: true}
	for i, text := range strings.Split(line, "\t") {
		field := r.cut(columns[i], text)
		for _, p := range field {
			if p.kind == name && !r.setUp[p.text] || p.kind == derived || p.kind == movement {
				parsed.setUp = false
			}
		}
		parsed.fields = append(parsed.fields, field)
	}
	return parsed
}

var (
	names = regexp.MustCompile(`rk_[0-9A-Za-z_-]{43}|[a-z]+(?:_[a-z]+)*_[0-9A-Za-z]{24}|:1[6-9][0-9]{8}\b|` +
		`\b[0-9a-f]{64}\b`)
	// copyTime is how COPY writes a timestamptz.
	copyTime = "2006-01-02 15:04:05.999999-07"
)

func (r *reader) cut(c column, text string) []piece {
	of := c.Table + "." + c.Column
	switch {
	case text == `\N`:
		return []piece{{text: text}}
	case recomputed[of] != nil:
		return []piece{{kind: computed, text: of}}
	case c.Type == "timestamp with time zone":
		if at, err := time.Parse(copyTime, text); err == nil {
			return []piece{{kind: moment, at: at}}
		}
		return []piece{{text: text}} // infinity
	}
	if body, known := r.messages[text]; known {
		return []piece{{kind: digested, of: r.names(body)}}
	}
	if values, known := r.answers[text]; known {
		said := piece{kind: answered}
		for n, value := range values {
			said.said = append(said.said, r.cut(answeredColumns[n], value))
		}
		return []piece{said}
	}
	if what := cmpOr(numbered[of], numbered[c.Column]); what != "" {
		n, _ := strconv.ParseInt(text, 10, 64)
		return []piece{{kind: map[string]kind{"book": book, "movement": movement}[what], n: n}}
	}
	pieces := r.names(text)
	if (c.Column == "key" || c.Column == "idempotency_key") && len(pieces) == 1 && pieces[0].kind == same {
		return []piece{{kind: ownKey, text: text}}
	}
	return pieces
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// names cuts a text where it names something.
func (r *reader) names(text string) (pieces []piece) {
	done := 0
	for _, at := range names.FindAllStringIndex(text, -1) {
		found := r.recognize(text[at[0]:at[1]])
		next := at[1]
		if found.kind == same || next < len(text) && isAlnum(text[next]) {
			continue
		}
		pieces = append(pieces, piece{text: text[done:at[0]]}, found)
		done = next
	}
	return append(pieces, piece{text: text[done:]})
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

func (r *reader) recognize(text string) piece {
	if text[0] == ':' {
		n, _ := strconv.ParseInt(text[1:], 10, 64)
		return piece{kind: seconds, n: n}
	}
	if len(text) == 64 {
		if id, known := r.keys[text]; known {
			return piece{kind: keyed, of: r.names(id)}
		}
		return piece{text: text}
	}
	if strings.HasPrefix(text, "rk_") && len(text) == 46 {
		return piece{kind: derived, text: text}
	}
	at := idTime(text)
	if at.Before(r.oldest) || at.After(time.Now().Add(time.Hour)) {
		return piece{text: text} // it only looks like an id
	}
	return piece{kind: name, text: text, at: at}
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// idTime is when an id was made.
func idTime(text string) time.Time {
	var ms int64
	for _, c := range text[len(text)-24 : len(text)-16] {
		ms = ms*62 + int64(strings.IndexRune(digits, c))
	}
	return time.UnixMilli(ms)
}

// place is which copy of a story is written, and where.
type place struct {
	n       int           // of the copy; 0 is the story itself
	account int           // of the account; 0 is the story's own
	earlier time.Duration // than the story
	setUp   map[string]bool
}

// write appends a row in COPY's format.
func (p place) write(out *bytes.Buffer, t *table, r row) {
	var values map[string]string
	for i, field := range r.fields {
		if i > 0 {
			out.WriteByte('\t')
		}
		p.writeField(out, t, r, field, &values)
	}
	out.WriteByte('\n')
}

func (p place) writeField(out *bytes.Buffer, t *table, r row, field []piece, values *map[string]string) {
	for _, part := range field {
		switch part.kind {
		case same:
			out.WriteString(part.text)
		case digested:
			var body bytes.Buffer
			p.writeField(&body, t, r, part.of, values)
			out.WriteString(digest(plain(body.String())))
		case answered:
			out.WriteString(p.answerDigest(t, r, part.said, values))
		case keyed:
			var id bytes.Buffer
			p.writeField(&id, t, r, part.of, values)
			hash := recomputed["api_keys.hash"](map[string]string{"id": id.String()})
			out.WriteString(strings.TrimPrefix(hash, `\\x`))
		case name:
			p.writeName(out, part)
		case derived:
			out.WriteString(part.text[:len(part.text)-6] + tail(p.n, 6))
		case moment:
			out.WriteString(part.at.Add(-p.earlier).Format(copyTime))
		case seconds:
			out.WriteString(":" + strconv.FormatInt(part.n-int64(p.earlier/time.Second), 10))
		case book:
			out.WriteString(strconv.FormatInt(part.n+int64(p.account)*booksOfAStory, 10))
		case movement:
			out.WriteString(strconv.FormatInt(part.n+int64(p.n)*movementsOfAStory, 10))
		case ownKey:
			out.WriteString(part.text + " " + strconv.Itoa(p.n))
		case computed:
			if *values == nil {
				*values = p.values(t, r)
			}
			out.WriteString(recomputed[part.text](*values))
		}
	}
}

// answerDigest hashes each value as its length in eight bytes and its own bytes.
func (p place) answerDigest(t *table, r row, said [][]piece, values *map[string]string) string {
	var all []byte
	for n, field := range said {
		var out bytes.Buffer
		p.writeField(&out, t, r, field, values)
		value := []byte(unescape(out.String()))
		if answeredColumns[n].Type == "bytea" {
			value = bytesOf(out.String())
		}
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(value))), value...)
	}
	return digest(all)
}

// bytesOf is what a bytea holds, whether it was read (with escapes) or is a digest of ours (in hexadecimal).
func bytesOf(text string) []byte {
	if digits, is := strings.CutPrefix(text, `\\x`); is {
		if sum, err := hex.DecodeString(digits); err == nil {
			return sum
		}
	}
	return plain(text)
}

// Numbers of a story are smaller than these.
const (
	booksOfAStory     = 10
	movementsOfAStory = 10_000
)

// writeName gives an id the copy's time and, at its end, the copy's number. What
// belongs to the account has one copy for each account.
func (p place) writeName(out *bytes.Buffer, part piece) {
	n := p.n
	if p.setUp[part.text] {
		if n = p.account; n == 0 {
			out.WriteString(part.text)
			return
		}
	}
	random := len(part.text) - 16
	out.WriteString(part.text[:random-8])
	out.WriteString(id.EncodeTime(part.at.Add(-p.earlierOf(part))))
	out.WriteString(part.text[random:len(part.text)-5] + tail(n, 5))
}

// earlierOf is when an account's own things were made: with the story's, because
// an id has to be the same in every copy.
func (p place) earlierOf(part piece) time.Duration {
	if p.setUp[part.text] {
		return 0
	}
	return p.earlier
}

func tail(n, width int) string {
	out := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		out[i] = digits[n%62]
		n /= 62
	}
	return string(out)
}

// values are a row's columns as they will be written, but for computed ones.
func (p place) values(t *table, r row) map[string]string {
	values := map[string]string{}
	for i, field := range r.fields {
		if len(field) == 1 && field[0].kind == computed {
			continue
		}
		var out bytes.Buffer
		p.write(&out, t, row{fields: [][]piece{field}})
		values[t.columns[i]] = strings.TrimSuffix(out.String(), "\n")
	}
	return values
}

// plain undoes COPY's and then bytea's escapes.
func plain(text string) []byte {
	var bytes []byte
	copied := unescape(text)
	for i := 0; i < len(copied); i++ {
		if copied[i] != '\\' || i+1 == len(copied) {
			bytes = append(bytes, copied[i])
			continue
		}
		if copied[i+1] == '\\' {
			bytes, i = append(bytes, '\\'), i+1
			continue
		}
		n, _ := strconv.ParseUint(copied[i+1:i+4], 8, 8)
		bytes, i = append(bytes, byte(n)), i+3
	}
	return bytes
}

// unescape undoes COPY's escapes.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'v':
			out.WriteByte('\v')
		default:
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// A request comes with its run or its answer in one statement, which triggers that
// always fire insist on. COPY writes one table at a time: they rest meanwhile. The
// acquirer's database has no such triggers.
const (
	storyApart = `
		ALTER TABLE requests DISABLE TRIGGER requests_have_a_run_or_an_answer;
		ALTER TABLE answers DISABLE TRIGGER answers_end_their_run;
		ALTER TABLE foreign_calls DISABLE TRIGGER foreign_calls_were_open`
	storyTogether = `
		ALTER TABLE requests ENABLE ALWAYS TRIGGER requests_have_a_run_or_an_answer;
		ALTER TABLE answers ENABLE ALWAYS TRIGGER answers_end_their_run;
		ALTER TABLE foreign_calls ENABLE ALWAYS TRIGGER foreign_calls_were_open`
)

// copyAll writes copies of a story's rows, in transactions of a few copies each.
// apart and together switch off and on the triggers that would need several tables at once.
func copyAll(ctx context.Context, conn *pgx.Conn, all []table, places []place, apart, together string) error {
	// Foreign keys are not looked at while rows come table by table: verify and the
	// constraints of the rows themselves say whether they fit.
	if _, err := conn.Exec(ctx,
		"SET session_replication_role = replica; SET timezone = 'UTC'; "+apart); err != nil {
		return err
	}
	var out bytes.Buffer
	accounts := map[int]bool{0: true}
	for some := range slices.Chunk(places, copiesAtOnce) {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for i := range all {
				out.Reset()
				opened := map[int]bool{}
				for _, p := range some {
					for _, r := range all[i].rows {
						if !r.setUp || !accounts[p.account] && !opened[p.account] {
							p.write(&out, &all[i], r)
						}
					}
					opened[p.account] = true
				}
				query := "COPY " + all[i].name + " (" + quoted(all[i].columns) + ") FROM STDIN"
				if _, err := tx.Conn().PgConn().CopyFrom(ctx, io.Reader(&out), query); err != nil {
					return fmt.Errorf("write %s: %w", all[i].name, err)
				}
			}
			for _, p := range some {
				accounts[p.account] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, together)
	return err
}

// copiesAtOnce bounds a transaction: the sealer's blocks end between transactions.
const copiesAtOnce = 50
