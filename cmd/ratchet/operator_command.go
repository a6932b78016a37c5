package main

import (
	"net/url"
	"os"
	"strings"
)

// operatorVariable names the command that runs an operator's commands, where the server cannot know it: in a
// container, or in the demo.
const operatorVariable = "RATCHET_OPERATOR_COMMAND"

// operatorCommand is what an operator types here before "keys create". It has no secret: the login that owns the
// schema is not ours, and its password comes from the operator's own password file.
func operatorCommand(databaseURL string) string {
	if given := os.Getenv(operatorVariable); given != "" {
		return given
	}
	words := []string{databaseVariable + "=" + shellWord(ownersURL(databaseURL))}
	if file := os.Getenv(secretVariable + "_FILE"); file != "" {
		words = append(words, secretVariable+"_FILE="+shellWord(file))
	}
	return strings.Join(append(words, shellWord(executable())), " ")
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return "ratchet"
	}
	return path
}

// ownersURL is the address of the database for the login that owns the schema. It is built of the parts that are known
// not to be secret.
func ownersURL(databaseURL string) string {
	const unknown = "postgres://OWNER@HOST:5432/DATABASE"
	u, err := url.Parse(databaseURL)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return unknown
	}
	kept, given := url.Values{}, u.Query()
	for _, name := range []string{"host", "port", "sslmode", "sslrootcert"} {
		if given.Has(name) {
			kept.Set(name, given.Get(name))
		}
	}
	owners := url.URL{Scheme: u.Scheme, User: url.User("OWNER"), Host: u.Host, Path: u.Path, RawQuery: kept.Encode()}
	return owners.String()
}

// shellWord quotes a text for a shell, if it needs to be.
func shellWord(text string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	plain := func(r rune) bool { return strings.ContainsRune(letters+"0123456789/:@._-+,%=", r) }
	if text != "" && strings.TrimLeftFunc(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
