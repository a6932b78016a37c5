package limit

import "sync"

// Concurrency bounds how many requests everybody has under way at once.
type Concurrency struct {
	most int

	mu    sync.Mutex
	under map[string]int
}

// NewConcurrency allows everybody so many at once. 0 allows any number.
func NewConcurrency(most int) *Concurrency {
	return &Concurrency{most: most, under: map[string]int{}}
}

// Enter counts one more of somebody's, unless there are too many. leave ends it.
func (c *Concurrency) Enter(who string) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 0 && c.under[who] >= c.most {
		return nil, false
	}
	c.under[who]++
	return func() { c.leave(who) }, true
}

func (c *Concurrency) leave(who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under[who]--
	if c.under[who] == 0 {
		delete(c.under, who)
	}
}
