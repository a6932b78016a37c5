package limit

import (
	"context"
	"sync"
)

// Fair has a request take a slot of its account's, and a turn, before it takes a slot of the process's.
// An account that asks for more than its share waits for itself, and does not delay the others.
type Fair struct {
	Accounts *Shares // nil: an account may take all slots
	Turns    *Turns  // nil: it may use its slots at any time
	All      *Limiter
}

// Enter takes both slots, each now or after a short wait, and waits for the turn in between, while it holds only the
// account's slot. release gives them back; only the first call does.
func (f Fair) Enter(ctx context.Context, account string) (release func(), err error) {
	giveBack, err := f.Accounts.Enter(ctx, account)
	if err != nil {
		return nil, err
	}
	endTurn, err := f.Turns.Enter(ctx, account)
	if err != nil {
		giveBack()
		return nil, err
	}
	free, err := f.All.Enter(ctx)
	if err != nil {
		endTurn()
		giveBack()
		return nil, err
	}
	return sync.OnceFunc(func() { free(); endTurn(); giveBack() }), nil
}
