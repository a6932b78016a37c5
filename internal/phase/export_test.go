package phase

// HoldUp keeps a committer from sending anything until the function it returns is called.
func (c *Committer) HoldUp() (release func()) {
	for range groupsAtOnce {
		<-c.free
	}
	return func() {
		for range groupsAtOnce {
			c.free <- struct{}{}
		}
	}
}

// Waiting is how many transactions wait for their turn.
func (c *Committer) Waiting() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		n += len(l.waiting)
	}
	return n
}
