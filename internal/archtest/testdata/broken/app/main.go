// Command app may end the process.
package main

import "os"

func main() { os.Exit(1) }
