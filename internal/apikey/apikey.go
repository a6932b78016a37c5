// Package apikey creates, finds and revokes API keys. A key is shown once, when it is created;
// the database stores a keyed hash of it. Functions that change a key take the transaction that
// also writes the audit row.
package apikey

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// The kinds of key.
const (
	Secret      = "secret"      // sk_: may do everything
	Publishable = "publishable" // pk_: may only make tokens
	Restricted  = "restricted"  // rk_: may do what its permissions say
)

// Credential is who a key belongs to, and what it opens.
type Credential struct {
	KeyID       string
	AccountID   string
	Livemode    bool
	Kind        string
	Permissions Permissions // of a restricted key
	Display     string      // the key as it may be shown
	Demo        bool
	ExpiresAt   *time.Time
	apirequest.Merchant
}

// ErrUnknown means that a key does not exist. ErrExpired is one that has been revoked or has run out.
var (
	ErrUnknown = errors.New("API key not found")
	ErrExpired = errors.New("the API key has expired")
)

// rememberFor bounds how long a revoked key still works on a process that has
// just seen it.
const rememberFor = 2 * time.Second

// rememberAtMost bounds the memory; a flood of wrong keys is not remembered at all.
const rememberAtMost = 10_000

// Cache looks keys up and remembers them for a moment. Safe for concurrent use.
type Cache struct {
	pool *pgxpool.Pool
	keys secret.Keys
	demo bool

	mu    sync.Mutex
	known map[[sha256.Size]byte]remembered
	used  map[string]time.Time // by the key's id, since they were last written down
}

type remembered struct {
	credential *Credential
	until      time.Time
}

// NewCache makes a cache. hashKeys are secret.Roots.Keys(secret.APIKeys); demo admits
// the demo accounts' well-known keys.
func NewCache(pool *pgxpool.Pool, hashKeys secret.Keys, demo bool) *Cache {
	return &Cache{
		pool:  pool,
		keys:  hashKeys,
		demo:  demo,
		known: map[[sha256.Size]byte]remembered{},
		used:  map[string]time.Time{},
	}
}

const findKey = `
	SELECT k.id AS key_id, k.account_id, k.livemode, k.kind, k.permissions, k.display, k.demo, k.expires_at,
	       a.country, a.default_currency, a.statement_descriptor, a.payout_delay_days, a.api_version AS default_version,
	       account_ahead(k.account_id, k.livemode) AS ahead
	FROM api_keys k JOIN accounts a ON a.id = k.account_id
	WHERE k.hash = ANY (@hashes::bytea[])`

// Find returns the credential of an API key. The error is ErrUnknown if no such key exists, or says that the key is
// revoked or expired. A key that was used a moment ago costs no query.
func (r *Cache) Find(ctx context.Context, key string) (*Credential, error) {
	name := r.name(key)
	now := time.Now()
	if credential := r.cached(name, now); credential != nil {
		return credential, credential.usable(now)
	}
	var hashes [][]byte
	for _, hashKey := range r.keys.All() {
		hash := Hash(hashKey, key)
		hashes = append(hashes, hash[:])
	}
	rows, err := r.pool.Query(ctx, findKey, postgres.Args{"hashes": hashes})
	if err != nil {
		return nil, fmt.Errorf("find API key: %w", err)
	}
	credential, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Credential])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("find API key: %w", err)
	}
	if credential.Demo && !r.demo {
		return nil, ErrUnknown
	}
	r.remember(name, credential, now)
	return credential, credential.usable(now)
}

// Seen says whether this process has looked a key up before and found it valid.
func (r *Cache) Seen(key string) bool {
	name := r.name(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	hit, is := r.known[name]
	return is && hit.credential.usable(time.Now()) == nil
}

// name is the hash under which this process remembers a key, so that its memory holds no key.
func (r *Cache) name(key string) [sha256.Size]byte { return Hash(r.keys.Oldest(), key) }

// cached is who holds a key, if that was asked a moment ago. It notes the use.
func (r *Cache) cached(name [sha256.Size]byte, now time.Time) *Credential {
	r.mu.Lock()
	defer r.mu.Unlock()
	hit, is := r.known[name]
	if !is || !now.Before(hit.until) {
		return nil
	}
	r.use(hit.credential, now)
	return hit.credential
}

func (r *Cache) remember(name [sha256.Size]byte, credential *Credential, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= rememberAtMost {
		clear(r.known)
	}
	r.known[name] = remembered{credential, now.Add(rememberFor)}
	r.use(credential, now)
}

func (h *Credential) usable(now time.Time) error {
	if h.ExpiresAt != nil && !now.Before(*h.ExpiresAt) {
		return ErrExpired
	}
	return nil
}

// Hash is what is stored of a key.
func Hash(hashKey []byte, key string) (hash [sha256.Size]byte) {
	mac := hmac.New(sha256.New, hashKey)
	mac.Write([]byte(key))
	mac.Sum(hash[:0])
	return hash
}

// Display is how a key may be shown: its beginning and its last four characters.
func Display(key string) string {
	const head, tail = 11, 4
	if len(key) <= head+tail {
		return stars(len(key))
	}
	return key[:head] + stars(len(key)-head-tail) + key[len(key)-tail:]
}

func stars(n int) string {
	const most = 32
	out := make([]byte, min(n, most))
	for i := range out {
		out[i] = '*'
	}
	return string(out)
}
