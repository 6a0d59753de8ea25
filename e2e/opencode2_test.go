package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// A beta of OpenCode 2, or else the fake, plays the session of OpenCode 1. e2e/opencode2 has the other sessions.
func TestOpenCode2Invariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode2)
}
