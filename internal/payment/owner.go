package payment

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Owner is the object that an intent is part of: a checkout session. Its package
// registers how it is locked, because that package knows intents, and not the other
// way around. An owner is always locked before its intent.
type Owner interface {
	// Paid completes the owner with the intent that has paid for it.
	Paid(tx *phase.Tx, intent *PaymentIntent)
	// Declined tells the owner that an attempt has failed. The intent can be tried again.
	Declined(tx *phase.Tx)
	// CardKept completes the owner with the card that its setup intent has verified.
	CardKept(tx *phase.Tx)
}

// OwnerPort is what an owner's package registers.
type OwnerPort struct {
	Lock func(ctx context.Context, tx *phase.Tx, id string) (Owner, error)
	// Captured notes that an intent which was only authorized has been captured. It
	// locks nothing: the owner is complete already.
	Captured func(tx *phase.Tx, id string)
}

var owners OwnerPort

// RegisterOwner says how the objects that intents belong to are locked and told.
func RegisterOwner(port OwnerPort) { owners = port }

// LockOwner locks the owner with an id; nil if there is none.
func LockOwner(ctx context.Context, tx *phase.Tx, id *string) (Owner, error) {
	if id == nil {
		return nil, nil
	}
	return owners.Lock(ctx, tx, *id)
}
