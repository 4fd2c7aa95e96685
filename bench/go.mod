module github.com/cronce/cronce/bench

go 1.26.0

require (
	github.com/adhocore/gronx v1.20.4
	github.com/cronce/cronce v0.0.0
	github.com/hashicorp/cronexpr v1.1.3
	github.com/robfig/cron/v3 v3.0.1
)

require (
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
)

replace github.com/cronce/cronce => ../
