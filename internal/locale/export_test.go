package locale

// Words are all texts of a language.
func (l *Language) Words() map[string]string { return l.words }
