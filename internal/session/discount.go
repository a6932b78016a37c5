package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

func init() {
	// Parts of a session and of its items, and no objects of which a row is kept.
	resource.Register(
		resource.Kind{Object: "checkout.session.total", Fields: map[string][]string{
			"breakdown": {"checkout.session.breakdown"}}},
		resource.Kind{Object: "checkout.session.breakdown", Fields: map[string][]string{
			"discounts": {"discounted"}, "taxes": nil}},
		resource.Kind{Object: "discounted", Fields: map[string][]string{"discount": {"discount"}}},
		resource.Kind{Object: "discount", Fields: map[string][]string{
			"customer": {"customer"}, "promotion_code": {"promotion_code"}, "source": {"discount.source"}}},
		resource.Kind{Object: "discount.source", Fields: map[string][]string{"coupon": {"coupon"}}},
	)
}

// discounted is what a discount takes off a session or one of its items.
type discounted struct {
	Amount   int64          `json:"amount"`
	Discount discountObject `json:"discount"`
}

// discountObject is a session's use of a coupon. Fields of invoices and subscriptions are
// always null.
type discountObject struct {
	ID               string         `json:"id"`
	Object           string         `json:"object"`
	CheckoutSession  string         `json:"checkout_session"`
	Customer         *string        `json:"customer"`
	CustomerAccount  *string        `json:"customer_account"`
	End              *int64         `json:"end"`
	Invoice          *string        `json:"invoice"`
	InvoiceItem      *string        `json:"invoice_item"`
	PromotionCode    *string        `json:"promotion_code"`
	Source           discountSource `json:"source"`
	Start            int64          `json:"start"`
	Subscription     *string        `json:"subscription"`
	SubscriptionItem *string        `json:"subscription_item"`
}

type discountSource struct {
	Coupon string `json:"coupon"`
	Type   string `json:"type"`
}

// discountedSession is what a discount is made of, as a session shows it before anything in
// it is expanded.
type discountedSession struct {
	ID           string                `json:"id"`
	Created      int64                 `json:"created"`
	Customer     *string               `json:"customer"`
	Discounts    []sessionDiscount     `json:"discounts"`
	TotalDetails *checkoutTotalDetails `json:"total_details"`
}

// taking are the session's discounts, of which there is one at most, with what they take off.
// The id of a discount follows from its session's.
func (s discountedSession) taking(amount int64) []discounted {
	found := []discounted{}
	for _, d := range s.Discounts {
		found = append(found, discounted{amount, discountObject{
			ID:              "di_" + s.ID[strings.LastIndexByte(s.ID, '_')+1:],
			Object:          "discount",
			CheckoutSession: s.ID,
			Customer:        s.Customer,
			PromotionCode:   d.PromotionCode,
			Source:          discountSource{d.Coupon, "coupon"},
			Start:           s.Created,
		}})
	}
	return found
}

// breakDown adds the breakdown to the totals of sessions.
func breakDown(_ context.Context, _ phase.Reader, _ resource.Principal, sessions []wire.Object) error {
	for _, session := range sessions {
		encoded, err := json.Marshal(session)
		if err != nil {
			return fmt.Errorf("encode a checkout session: %w", err)
		}
		var shown discountedSession
		if err := json.Unmarshal(encoded, &shown); err != nil {
			return fmt.Errorf("decode a checkout session: %w", err)
		}
		if shown.TotalDetails == nil { // in mode setup
			continue
		}
		breakdown, err := resource.Tree(struct {
			Discounts []discounted `json:"discounts"`
			Taxes     []string     `json:"taxes"`
		}{shown.taking(shown.TotalDetails.AmountDiscount), []string{}})
		if err != nil {
			return err
		}
		session["total_details"].(wire.Object)["breakdown"] = breakdown
	}
	return nil
}

const discountsOfItems = `
	SELECT i.id AS item, i.discount AS amount, s.id, extract(epoch FROM s.created_at)::bigint AS created,
	       s.customer_id AS customer, s.coupon_id AS coupon, s.promotion_code_id AS promotion_code
	FROM checkout_items i JOIN checkout_sessions s ON s.account_id = i.account_id AND s.id = i.session_id
	WHERE i.account_id = @account_id AND i.livemode = @livemode AND i.id = ANY (@ids::text[])
	  AND s.coupon_id IS NOT NULL`

// discountItems adds their discounts to items that do not have them yet.
func discountItems(ctx context.Context, db phase.Reader, v resource.Principal, items []wire.Object) error {
	type row struct {
		Item          string
		Amount        int64
		ID            string
		Created       int64
		Customer      *string
		Coupon        string
		PromotionCode *string
	}
	args := v.Args()
	var ids []string
	for _, item := range items {
		ids = append(ids, fmt.Sprint(item["id"]))
	}
	args["ids"] = ids
	rows, err := db.Query(ctx, discountsOfItems, args)
	if err != nil {
		return err
	}
	read, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		return err
	}
	found := map[string]any{}
	for _, r := range read {
		session := discountedSession{ID: r.ID, Created: r.Created, Customer: r.Customer,
			Discounts: []sessionDiscount{{r.Coupon, r.PromotionCode}}}
		shown, err := resource.Tree(ItemObject{Discounts: session.taking(r.Amount)})
		if err != nil {
			return err
		}
		found[r.Item] = shown["discounts"]
	}
	for i, item := range items {
		switch {
		case item["discounts"] != nil:
		case found[ids[i]] != nil:
			item["discounts"] = found[ids[i]]
		default:
			item["discounts"] = []any{}
		}
	}
	return nil
}

// untaxed adds their taxes to items.
func untaxed(_ context.Context, _ phase.Reader, _ resource.Principal, items []wire.Object) error {
	for _, item := range items {
		item["taxes"] = []any{}
	}
	return nil
}
