package e2e

import (
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// These tests play scenarios of OpenCode 1 in a beta of OpenCode 2, or else in the fake.

func TestOpenCode2Invariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode2)
}

func TestOpenCode2SendsTheSameBytesTwice(t *testing.T) { testSameBytesTwice(t, schema.HarnessOpenCode2) }

func TestOpenCode2LongHistory(t *testing.T) { testLongHistory(t, schema.HarnessOpenCode2) }

func TestOpenCode2OutputsLargerThanTheWindow(t *testing.T) {
	testOutputsLargerThanTheWindow(t, schema.HarnessOpenCode2)
}
