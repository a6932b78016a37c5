package people

import (
	"testing"
	"time"
)

// The secret and the codes are those of RFC 6238, appendix B, for SHA-1: the last six of eight digits.
func TestCodesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	shared := base32Plain.EncodeToString([]byte("12345678901234567890"))
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471",
		1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got, err := TOTP(shared, time.Unix(at, 0)); err != nil || got != want {
			t.Errorf("at %d the code is %s, want %s (%v)", at, got, want, err)
		}
		if stepOf(shared, want, time.Unix(at+30, 0)) == 0 || stepOf(shared, want, time.Unix(at+90, 0)) != 0 {
			t.Errorf("at %d the code is not accepted for one more period, and no longer", at)
		}
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]error{
		"elevenchars":              ErrShort,
		"password1234":             ErrCommon,
		"P@ssw0rd2024!":            ErrCommon,
		"qwertyuiop123":            ErrCommon,
		"123456789012":             ErrCommon,
		"aaaaaaaaaaaa":             ErrCommon,
		"abcabcabcabc":             ErrCommon,
		"ratchetratchet1":          ErrCommon,
		"annabella-2024":           ErrCommon, // with the email below
		"seven green kettles sing": nil,
		"Zt4!mVq9#kPw2":            nil,
	} {
		if err := CheckPassword(password, "annabella@example.com"); err != want {
			t.Errorf("%q: %v, want %v", password, err, want)
		}
	}
	stored := hashPassword("seven green kettles sing")
	if !matches("seven green kettles sing", stored) || matches("seven green kettles sang", stored) {
		t.Errorf("%s does not tell passwords apart", stored)
	}
}
