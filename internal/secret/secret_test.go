package secret

import (
	"strings"
	"testing"
)

// The values are made up from parts, so that no scanner of secrets reports this file.
func TestSecretsAreNamedAndTheirValuesGone(t *testing.T) {
	const random = "q7Zt4Xw9Lm2Kc8Vb5Rn1Hd6Jf3Gs0PyTeUaW"
	for _, c := range []struct{ before, value, after, name string }{
		{"use ", "gh" + "p_" + random, " for CI", "GitHub token"},
		{"use ", "github" + "_pat_" + random, ".", "GitHub token"},
		{"key=", "sk-" + "ant-api03-" + random, "\n", "Anthropic key"},
		{"OPENAI_API_KEY=", "sk-" + "proj-" + random, "\n", "API key"},
		{"", "AK" + "IAQ7ZT4XW2LM2KC5VB", "", "AWS key"},
		{"npm ", "np" + "m_" + random, "", "npm token"},
		{"t ", "xo" + "xb-12345678901-" + random, "", "Slack token"},
		{"cookie ", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + random, "", "JSON web token"},
		{"postgres://app:", "hunter2x", "@db/main", "password in a URL"},
		{"curl -H 'Authorization: Bearer ", random, "'", "authorization"},
		{"DB_PASSWORD=", "hunter2-x9", "", "password"},
		{`{"password": "`, "hunter2-x9", `"}`, "password"},
		{"client_secret: ", random[:20], "", "secret"},
		{`"apiKey": "`, random[:24], `"`, "API key"},
		{"", "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE " + "KEY-----\n", "(end)", "private key"},
		{"", "-----BEGIN PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA", "", "private key"},
	} {
		text := "äöü " + c.before + c.value + c.after
		got := Redact(text)
		if want := "äöü " + c.before + "[redacted " + c.name + "]" + c.after; got != want {
			t.Errorf("%q\n became %q\n want   %q", text, got, want)
		}
		if again := Redact(got); again != got {
			t.Errorf("a second time: %q", again)
		}
	}
}

// A search must still find what people and models write about.
func TestOrdinaryTextsStay(t *testing.T) {
	for _, text := range []string{
		"", "The password field is empty. Ask for a token of 12 characters, and keep the secret key in a vault.",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b", "max_tokens: 128000, tokens = 15", "token: string", "password: string",
		"password := os.Getenv(\"PASSWORD\")", "apiKey: process.env.API_KEY", "password=$DB_PASSWORD", "secret: ${{ secrets.NPM }}",
		"https://example.com/a/b?c=d", "git@github.com:a/b.git", "ssh://git@github.com/a", "http://localhost:8080/x@y",
		"sk-learn is scikit-learn-compatible-estimators", "a uuid 123e4567-e89b-12d3-a456-426614174000", "ses_01HZXK3V9Q8Y7W6T5R4E3W2Q1P",
	} {
		if got := Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Patterns are tried on texts that somebody else prepared.
func TestHostileTextTakesLinearTime(t *testing.T) {
	for _, part := range []string{"-----BEGIN PRIVATE KEY-----", "://a:", "password=", "bearer ", "sk-", "a_token", "passwpasswpassw", "\x00\xff"} {
		Redact(strings.Repeat(part, 1<<17/len(part)))
	}
}

func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("The test fails because internal/store/file.go opens the database twice; see commit 3f786850 and run go test ./store.\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Redact(text)
	}
}
