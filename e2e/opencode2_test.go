package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// If there is no beta of OpenCode 2, a fake plays it. e2e/opencode2 has the other sessions.
func TestOpenCode2Invariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode2)
}
