package limit

import "sync"

// Concurrency bounds how many concurrent requests each account may have.
type Concurrency struct {
	most int

	mu    sync.Mutex
	under map[string]int
}

// NewConcurrency allows each account this many at once. 0 means no limit.
func NewConcurrency(most int) *Concurrency {
	return &Concurrency{most: most, under: map[string]int{}}
}

// Enter counts one more request of an account, unless there are too many. release ends it.
func (c *Concurrency) Enter(who string) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 0 && c.under[who] >= c.most {
		return nil, false
	}
	c.under[who]++
	return func() { c.release(who) }, true
}

func (c *Concurrency) release(who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under[who]--
	if c.under[who] == 0 {
		delete(c.under, who)
	}
}
