package people

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// LeastPassword and mostPassword are in characters. ASVS asks for 8 or more, and recommends 15; below 12, a stolen
// table of hashes is worth a try. The upper limit bounds what a stranger can have us hash.
const (
	LeastPassword = 12
	mostPassword  = 256
)

// The parameters of Argon2id are the second choice of OWASP's cheat sheet: 19 MiB and two passes, some 30 ms of one
// core. A process with two hashes at once then needs 38 MiB for them, and still answers payments.
const (
	hashMemory = 19 * 1024 // KiB
	hashPasses = 2
	hashLanes  = 1
	hashBytes  = 32
	saltBytes  = 16
)

// hashing holds one place for each hash that may be computed at the same time. Others wait.
var hashing = make(chan struct{}, 2)

func derive(password string, salt []byte, passes, memory uint32, lanes uint8, size uint32) []byte {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, passes, memory, lanes, size)
}

// hashPassword is what the table keeps of a password: the hash with its parameters, so that they can change later.
func hashPassword(password string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails
	sum := derive(password, salt, hashPasses, hashMemory, hashLanes, hashBytes)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// matches tells whether a password is the one that was hashed.
func matches(password, stored string) bool {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || utf8.RuneCountInString(password) > mostPassword {
		return false
	}
	var memory, passes uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil {
		return false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	want, wantErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || wantErr != nil || len(want) == 0 {
		return false
	}
	return subtle.ConstantTimeCompare(derive(password, salt, passes, memory, lanes, uint32(len(want))), want) == 1
}

// unknownHash is compared with if no user has the email, so that the answer takes as long as for a user.
var unknownHash = sync.OnceValue(func() string { return hashPassword(rand.Text()) })

// newPassword is one that a person can copy: 120 random bits.
func newPassword() string { return rand.Text()[:24] }

// digest is what the audit trail keeps of a value, to prove that the table still has it.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Reasons why a password is refused.
var (
	ErrShort  = fmt.Errorf("a password must have at least %d characters", LeastPassword)
	ErrLong   = fmt.Errorf("a password must have at most %d characters", mostPassword)
	ErrCommon = errors.New("this password is too common")
)

// CheckPassword refuses passwords that are easy to guess. The email is that of its owner.
func CheckPassword(password, email string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < LeastPassword:
		return ErrShort
	case n > mostPassword:
		return ErrLong
	case common(password, email):
		return ErrCommon
	}
	return nil
}

// words are what the commonest passwords of 12 characters or more are made of, as the published lists of leaked
// passwords show them: a word or two, and digits.
var words = []string{"password", "passwort", "motdepasse", "contrasena", "qwertyuiop", "qwertyui", "qwerty", "qwertz",
	"azerty", "asdfghjkl", "asdfgh", "asdf", "zxcvbnm", "zxcvbn", "1q2w3e4r5t6y", "1q2w3e4r5t", "1q2w3e4r", "1q2w3e",
	"q1w2e3r4t5", "q1w2e3r4", "1qaz2wsx3edc", "1qaz2wsx", "qazwsxedc", "qazwsx", "letmein", "welcome", "iloveyou",
	"ilovegod", "administrator", "admin", "changeme", "change", "default", "secret", "temporary", "temp", "login",
	"user", "root", "master", "superman", "batman", "starwars", "football", "baseball", "basketball", "liverpool",
	"chelsea", "arsenal", "barcelona", "princess", "sunshine", "monkey", "dragon", "shadow", "michael", "jennifer",
	"jordan", "whatever", "trustno1", "computer", "internet", "samsung", "pokemon", "minecraft", "forever", "hello",
	"hallo", "abcdefgh", "abcdef", "abcd", "abc", "correcthorsebatterystaple", "correcthorse", "batterystaple", "test",
	"guest", "access", "company", "summer", "winter", "spring", "autumn", "monday", "friday", "january", "december",
	"love", "you", "my", "the", "is", "me", "new", "it", "to", "ratchet", "dashboard", "payments", "stripe", "open",
	"sesame"}

var letters = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!",
	"i")

// common tells whether a password consists of common words, digits, marks, its owner's name, and repetitions alone.
func common(password, email string) bool {
	plain := strings.ToLower(password)
	name, _, _ := strings.Cut(strings.ToLower(email), "@")
	core := strings.TrimFunc(plain, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, variant := range []string{plain, letters.Replace(core)} {
		rest := variant
		if len(name) >= 3 {
			rest = strings.ReplaceAll(rest, name, "")
		}
		for _, word := range words {
			rest = strings.ReplaceAll(rest, word, "")
		}
		if few(strings.TrimFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })) {
			return true
		}
	}
	return repeats(plain)
}

// few tells whether there is not enough left to guess.
func few(rest string) bool {
	different := map[rune]bool{}
	for _, r := range rest {
		different[r] = true
	}
	return len(different) < 4
}

// repeats tells whether a password is a short piece over and over.
func repeats(password string) bool {
	for n := 1; n <= 6 && n <= len(password)/2; n++ {
		if strings.Repeat(password[:n], len(password)/n+1)[:len(password)] == password {
			return true
		}
	}
	return false
}
