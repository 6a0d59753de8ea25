package memories

import "testing"

// The expected hashes come from the TypeScript plugin. Its memories can be imported, so our hashes must be the same.
func TestMemoryHashIgnoresCaseAndSpace(t *testing.T) {
	for content, want := range map[string]string{"  Use   BUN\nfor scripts ": "ea316e726eb35bacb00423ad9f837711", "ÇA Va\ufeff": "5f9fcdcdf60fb19403b318794b766cf5"} {
		if got := hash(content); got != want { // reference vectors hash-1 and hash-2
			t.Errorf("the hash of %q is %s, want %s", content, got, want)
		}
	}
	const want = "8e5fc0277367c7af987fb4ffb4a1a09a"
	for _, content := range []string{"use bun", "  Use   Bun\n", "USE\tBUN"} {
		if got := hash(content); got != want {
			t.Errorf("the hash of %q is %s, want %s", content, got, want)
		}
	}
	if hash("usebun") == want {
		t.Error("another content has the same hash")
	}
}
