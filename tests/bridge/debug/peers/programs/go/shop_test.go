package main

import "testing"

func TestAdd(t *testing.T) {
	sum := add(1, Item{"tea", 3})
	if sum != 5 {
		t.Fatal("not 5")
	}
}
