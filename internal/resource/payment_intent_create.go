package resource

func (s *Shipping) NilIfEmpty() *Shipping {
	if *s == (Shipping{}) {
		return nil
	}
	return s
}
