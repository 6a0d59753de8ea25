package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// These tests play the scenarios of OpenCode 1 in a beta of OpenCode 2. Without a beta, they are skipped.

func TestOpenCode2Invariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode2)
}
