package main

import (
	"fmt"
	"os"
)

type Item struct {
	Name  string
	Price int
}

func add(total int, item Item) int {
	sum := total + item.Price
	return sum
}

func main() {
	cart := []Item{{"tea", 3}, {"jam", 5}, {"rye", 7}}
	total := 0
	for _, item := range cart {
		total = add(total, item)
		fmt.Println("total", total, os.Getenv("GREETING"))
	}
	if len(os.Args) > 1 && os.Args[1] == "poor" {
		panic("no money")
	}
	for len(os.Args) > 1 {
		total++
	}
	os.Exit(total)
}
