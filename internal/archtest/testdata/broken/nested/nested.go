package nested

import _ "example.com/driver"
