package main

// Main lets the test binary be the command.
var Main = main
