package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// How often the worker pays out an account's balance.
const (
	Manual  = "manual" // when the merchant creates a payout
	Daily   = "daily"
	Weekly  = "weekly"
	Monthly = "monthly"
)

// Schedule says on which days the worker pays out what is available in an account's mode.
type Schedule struct {
	Frequency string
	Days      []int16 // Weekly: 1 is Monday and 5 is Friday; Monthly: days of the month
}

// ErrSchedule says why a schedule that was typed does not work.
var ErrSchedule = errors.New("a schedule is manual, daily, weekly with days from monday to friday, " +
	"or monthly with days from 1 to 31")

// ParseSchedule reads a schedule as an operator types it. days are separated by commas.
func ParseSchedule(frequency, days string) (Schedule, error) {
	s := Schedule{Frequency: frequency, Days: []int16{}}
	for day := range strings.SplitSeq(days, ",") {
		if day = strings.TrimSpace(day); day == "" {
			continue
		}
		n := weekday(day)
		if frequency == Monthly {
			parsed, err := strconv.ParseInt(day, 10, 16)
			if err != nil {
				return s, ErrSchedule
			}
			n = int16(parsed)
		}
		s.Days = append(s.Days, n)
	}
	if s.Days = inOrder(s.Days); !s.valid() {
		return s, ErrSchedule
	}
	return s, nil
}

// valid is the rule of payout_schedules_days_fit_the_frequency.
func (s Schedule) valid() bool {
	last := map[string]int16{Weekly: 5, Monthly: 31}[s.Frequency]
	switch s.Frequency {
	case Manual, Daily:
		return len(s.Days) == 0
	case Weekly, Monthly:
		return len(s.Days) > 0 && s.Days[0] >= 1 && s.Days[len(s.Days)-1] <= last
	}
	return false
}

// inOrder sorts days, and names each once.
func inOrder(days []int16) []int16 {
	slices.Sort(days)
	return slices.Compact(days)
}

// weekday is the number of a day from Monday, 1, to Friday, 5; 0 for any other name.
func weekday(name string) int16 {
	for n := int16(1); n <= 5; n++ {
		if name == weekdayName(n) {
			return n
		}
	}
	return 0
}

// weekdayName is the day's name as the API writes it.
func weekdayName(n int16) string { return strings.ToLower(time.Weekday(n).String()) }

// A schedule begins today, by the account's clock. One that is set again goes on.
const setSchedule = `
	INSERT INTO payout_schedules AS s (account_id, livemode, frequency, days, since)
	SELECT @account_id, @livemode, @frequency, @days, (account_time(@account_id, @livemode) AT TIME ZONE 'UTC')::date
	ON CONFLICT (account_id, livemode) DO UPDATE
	SET frequency = excluded.frequency, days = excluded.days, changed_at = clock_timestamp(),
	    since = CASE WHEN (s.frequency, s.days) = (excluded.frequency, excluded.days) THEN s.since
	                 ELSE excluded.since END`

// SetSchedule sets an account's schedule in both modes, for an operator. The audit row is written in the same
// transaction.
func SetSchedule(ctx context.Context, pool *pgxpool.Pool, user, accountID string, s Schedule) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, livemode := range []bool{false, true} {
			_, err := tx.Exec(ctx, setSchedule, postgres.Args{"account_id": accountID, "livemode": livemode,
				"frequency": s.Frequency, "days": s.Days})
			if err != nil {
				return err
			}
		}
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User:      user,
			Operation: "payouts.schedule",
			AccountID: accountID,
			ObjectID:  accountID,
			Details:   map[string]any{"schedule": s.Frequency, "days": s.Days},
		})
	})
	if postgres.IsForeignKeyViolation(err) {
		return fmt.Errorf("account %s not found", accountID)
	}
	if err != nil {
		return fmt.Errorf("set the payout schedule of %s: %w", accountID, err)
	}
	return nil
}
