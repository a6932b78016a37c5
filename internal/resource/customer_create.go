package resource

// NilIfEmpty is the address, or nil if it was sent empty.
func (a *Address) NilIfEmpty() *Address {
	if *a == (Address{}) {
		return nil
	}
	return a
}

func (s *CustomerShipping) NilIfEmpty() *CustomerShipping {
	if *s == (CustomerShipping{}) {
		return nil
	}
	return s
}
