// Writes the models of a schema's tables: go-models SCHEMA FOLDER PACKAGE. In their fastest form, with methods to copy and compare.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ovn-org/libovsdb/modelgen"
	"github.com/ovn-org/libovsdb/ovsdb"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	file, folder, name := os.Args[1], os.Args[2], os.Args[3]
	text, err := os.ReadFile(file)
	check(err)
	var schema ovsdb.DatabaseSchema
	check(json.Unmarshal(text, &schema))
	generator, err := modelgen.NewGenerator()
	check(err)
	for table := range schema.Tables {
		columns := schema.Table(table)
		data := modelgen.GetTableTemplateData(name, table, columns)
		data.WithExtendedGen(true)
		check(generator.Generate(filepath.Join(folder, modelgen.FileName(table)), modelgen.NewTableTemplate(), data))
	}
	check(generator.Generate(filepath.Join(folder, "model.go"), modelgen.NewDBTemplate(),
		modelgen.GetDBTemplateData(name, schema)))
}
