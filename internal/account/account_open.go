package account

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// NewAccount is an account that an operator opens. Empty fields get the schema's
// defaults, and an account without an id gets one from the caller.
type NewAccount struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Country  string `json:"country,omitempty"`  // two letters; "US" if empty
	Currency string `json:"currency,omitempty"` // "usd" if empty
	// what cards' statements show; "RATCHET" if empty
	StatementDescriptor string `json:"statement_descriptor,omitempty"`
	PayoutDelayDays     *int   `json:"payout_delay_days,omitempty"`
	APIVersion          string `json:"api_version,omitempty"` // of requests that name none; the current one if empty
}

const insertAccount = `
	INSERT INTO accounts (id, name, country, default_currency, statement_descriptor, payout_delay_days, api_version)
	VALUES (@id, @name, coalesce(nullif(@country, ''), 'US'), coalesce(nullif(@currency, ''), 'usd'),
	        coalesce(nullif(@statement_descriptor, ''), 'RATCHET'), coalesce(@payout_delay_days::smallint, 2),
	        coalesce(nullif(@api_version, ''), @current))
	ON CONFLICT (id) DO NOTHING`

// OpenAccount writes an account down, in the transaction that also audits it.
// opened is false if there is an account of that id: it stays as it is.
func OpenAccount(ctx context.Context, tx pgx.Tx, a NewAccount) (opened bool, err error) {
	if err := a.check(); err != nil {
		return false, err
	}
	done, err := tx.Exec(ctx, insertAccount, pgx.StrictNamedArgs{
		"id": a.ID, "name": a.Name, "country": a.Country, "currency": strings.ToLower(a.Currency),
		"statement_descriptor": a.StatementDescriptor, "payout_delay_days": a.PayoutDelayDays,
		"api_version": a.APIVersion, "current": apiversion.Current})
	if err != nil {
		return false, fmt.Errorf("open account: %w", err)
	}
	return done.RowsAffected() == 1, nil
}

var (
	accountID   = regexp.MustCompile(`^acct_[0-9A-Za-z_]{1,64}$`)
	countryCode = regexp.MustCompile(`^[A-Z]{2}$`)
)

// mostDelayDays and longestDescriptor are what the schema and the card networks hold.
const (
	mostDelayDays     = 90
	longestDescriptor = 22
)

// check says in an operator's words what is wrong with an account.
func (a NewAccount) check() error {
	switch {
	case !accountID.MatchString(a.ID):
		return fmt.Errorf("an account's ID must be acct_ and up to 64 letters and digits, not %q", a.ID)
	case strings.TrimSpace(a.Name) == "" || strings.ContainsFunc(a.Name, unicode.IsControl):
		return errors.New("an account needs a name")
	case a.Country != "" && !countryCode.MatchString(a.Country):
		return fmt.Errorf("a country must be two capital letters, not %q", a.Country)
	case len(a.StatementDescriptor) > longestDescriptor:
		return fmt.Errorf("a statement descriptor must have at most %d characters", longestDescriptor)
	case a.PayoutDelayDays != nil && (*a.PayoutDelayDays < 0 || *a.PayoutDelayDays > mostDelayDays):
		return fmt.Errorf("the payout delay must be 0 to %d days", mostDelayDays)
	}
	if _, known := apiversion.Parse(a.APIVersion); a.APIVersion != "" && !known {
		return fmt.Errorf("the API version %q is not one of Stripe's", a.APIVersion)
	}
	if a.StatementDescriptor != "" {
		if err := resource.CheckDescriptors(&a.StatementDescriptor); err != nil {
			return err
		}
	}
	if a.Currency != "" {
		if _, err := money.Parse(a.Currency); err != nil {
			return err
		}
	}
	return nil
}

const setAPIVersion = `UPDATE accounts SET api_version = @api_version WHERE id = @id`

// SetAPIVersion chooses the version of an account's requests that name none, and of
// the events that happen from now on. known is false if the account does not exist.
func SetAPIVersion(
	ctx context.Context, tx pgx.Tx, accountID string, version apiversion.Version,
) (known bool, err error) {
	done, err := tx.Exec(ctx, setAPIVersion, pgx.StrictNamedArgs{"id": accountID, "api_version": version})
	if err != nil {
		return false, fmt.Errorf("set the API version of %s: %w", accountID, err)
	}
	return done.RowsAffected() == 1, nil
}

// Accounts are all accounts of the installation, the oldest first.
func Accounts(ctx context.Context, db phase.Reader) ([]Account, error) {
	rows, err := db.Query(ctx, listAccounts)
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	accounts, err := pgx.CollectRows(rows, pgx.RowToStructByName[Account])
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return accounts, nil
}

// AccountExists says whether there is an account of that id.
func AccountExists(ctx context.Context, db phase.Reader, id string) (bool, error) {
	account, err := resource.QueryOne[Account](ctx, db, AccountByID, pgx.StrictNamedArgs{"id": id})
	return account != nil, err
}
