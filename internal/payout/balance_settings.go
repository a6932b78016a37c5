package payout

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{Object: "balance_settings"})
}

// BalanceSettings say when an account's money becomes available, and when it is paid out.
type BalanceSettings struct {
	Schedule
	PayoutDelayDays int64
}

// BalanceSettingsObject is an account's balance settings on the wire.
type BalanceSettingsObject struct {
	Object   string           `json:"object"`
	Payments paymentsSettings `json:"payments"`
}

type paymentsSettings struct {
	DebitNegativeBalances bool             `json:"debit_negative_balances"`
	Payouts               payoutSettings   `json:"payouts"`
	SettlementTiming      settlementTiming `json:"settlement_timing"`
}

type payoutSettings struct {
	AutomaticTransferRules *string        `json:"automatic_transfer_rules_by_currency"`
	MinimumBalance         *string        `json:"minimum_balance_by_currency"`
	Schedule               payoutSchedule `json:"schedule"`
	StatementDescriptor    *string        `json:"statement_descriptor"`
	Status                 string         `json:"status"`
}

type payoutSchedule struct {
	Interval          string   `json:"interval"`
	MonthlyPayoutDays []int16  `json:"monthly_payout_days,omitempty"`
	WeeklyPayoutDays  []string `json:"weekly_payout_days,omitempty"`
}

type settlementTiming struct {
	DelayDays  int64   `json:"delay_days"`
	StartOfDay *string `json:"start_of_day"`
}

// Render is the settings as the API's JSON object.
func (b *BalanceSettings) Render() any {
	schedule := payoutSchedule{Interval: b.Frequency}
	switch b.Frequency {
	case Weekly:
		for _, day := range b.Days {
			schedule.WeeklyPayoutDays = append(schedule.WeeklyPayoutDays, weekdayName(day))
		}
	case Monthly:
		schedule.MonthlyPayoutDays = b.Days
	}
	return BalanceSettingsObject{Object: "balance_settings", Payments: paymentsSettings{
		Payouts:          payoutSettings{Schedule: schedule, Status: "enabled"},
		SettlementTiming: settlementTiming{DelayDays: b.PayoutDelayDays},
	}}
}

const selectBalanceSettings = `
	SELECT a.payout_delay_days, coalesce(s.frequency, 'manual') AS frequency, coalesce(s.days, '{}') AS days
	FROM accounts a
	LEFT JOIN payout_schedules s ON s.account_id = @account_id AND s.livemode = @livemode
	WHERE a.id = @account_id`

// RetrieveBalanceSettingsParams are the parameters of GET /v1/balance_settings.
type RetrieveBalanceSettingsParams struct {
	Expand form.Expand `form:"expand"`
}

// RetrieveBalanceSettings answers GET /v1/balance_settings: those of the key's account and mode.
func RetrieveBalanceSettings(
	ctx context.Context, db phase.Reader, v resource.Principal, in RetrieveBalanceSettingsParams,
) (any, error) {
	settings, err := resource.QueryOne[BalanceSettings](ctx, db, selectBalanceSettings, v.Args())
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, settings.Render())
}

// UpdateBalanceSettingsParams are what POST /v1/balance_settings takes.
type UpdateBalanceSettingsParams struct {
	Payments *struct {
		Payouts *struct {
			Schedule *ScheduleParams `form:"schedule"`
		} `form:"payouts"`
	} `form:"payments"`
	Expand form.Expand `form:"expand"`

	Schedule *Schedule // the one that Payments names, if any
}

// ScheduleParams are the parameters of a payout schedule.
type ScheduleParams struct {
	Interval          string   `form:"interval" enum:"daily,manual,monthly,weekly"`
	MonthlyPayoutDays []int64  `form:"monthly_payout_days" max:"31"`
	WeeklyPayoutDays  []string `form:"weekly_payout_days" max:"5" enum:"friday,monday,thursday,tuesday,wednesday"`
}

const scheduleParam = "payments[payouts][schedule]"

// schedule is the one that was asked for, or nil.
func (in *UpdateBalanceSettingsParams) schedule() (*Schedule, error) {
	if in.Payments == nil || in.Payments.Payouts == nil || in.Payments.Payouts.Schedule == nil {
		return nil, nil
	}
	sent := in.Payments.Payouts.Schedule
	s := &Schedule{Frequency: sent.Interval, Days: []int16{}}
	for _, day := range sent.WeeklyPayoutDays {
		s.Days = append(s.Days, weekday(day))
	}
	for _, day := range sent.MonthlyPayoutDays {
		if day < 1 || day > 31 {
			return nil, apierror.Invalid(scheduleParam+"[monthly_payout_days]",
				"Invalid monthly_payout_days: a day of the month is between 1 and 31.")
		}
		s.Days = append(s.Days, int16(day))
	}
	s.Days = inOrder(s.Days)
	if s.Frequency == "" {
		return nil, apierror.Missing(scheduleParam + "[interval]")
	}
	for _, list := range []struct {
		of, name string
		sent     int
	}{
		{Weekly, "weekly_payout_days", len(sent.WeeklyPayoutDays)},
		{Monthly, "monthly_payout_days", len(sent.MonthlyPayoutDays)},
	} {
		switch param := scheduleParam + "[" + list.name + "]"; {
		case s.Frequency == list.of && list.sent == 0:
			return nil, apierror.Missing(param)
		case s.Frequency != list.of && list.sent > 0:
			return nil, apierror.Invalid(param, "You can only pass `%s` if `interval` is `%s`.", list.name, list.of)
		}
	}
	return s, nil
}

const balanceSettingsUpdated = "balance_settings_updated"

// UpdateBalanceSettings changes the payout schedule of the key's account and mode.
//
//	(nothing) ──▶ balance_settings_updated
//	     claim + update + answer
var UpdateBalanceSettings = phase.Define("balance_settings.update", 1,
	phase.Atomic(balanceSettingsUpdated, changeBalanceSettings),
).Check(func(_ context.Context, _ phase.Reader, _ phase.Check, in *UpdateBalanceSettingsParams) error {
	var err error
	in.Schedule, err = in.schedule()
	return err
})

// Two changes at the same time take turns, so that the event of each says what it replaced.
const lockBalanceSettings = `
	SELECT pg_advisory_xact_lock(
		hashtextextended(@account_id || '/' || @livemode::boolean::text || '/balance settings', 0))::text`

func changeBalanceSettings(
	ctx context.Context, tx *phase.Tx, in UpdateBalanceSettingsParams, _ *struct{},
) (phase.Outcome, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	rows, err := tx.Query(ctx, lockBalanceSettings, args)
	if err != nil {
		return phase.Outcome{}, err
	}
	if _, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return phase.Outcome{}, err
	}
	settings, err := resource.QueryOne[BalanceSettings](ctx, tx, selectBalanceSettings, args)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := settings.Render()
	if in.Schedule != nil {
		settings.Schedule = *in.Schedule
	}
	previous, err := event.Changes(before, settings.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	if len(previous) > 0 {
		tx.WriteOne(setSchedule, pgx.StrictNamedArgs{"account_id": tx.AccountID, "livemode": tx.Livemode,
			"frequency": settings.Frequency, "days": settings.Days})
		event.Emit(tx, "balance_settings.updated", tx.AccountID, settings.Render(), previous)
	}
	return resource.Reply(ctx, tx, in.Expand, tx.AccountID, settings.Render())
}
