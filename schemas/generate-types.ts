// Writes types of OVN's databases: of the rows that Heddle writes, and for tests of the OVSDB client those of rows as they are read.
// With --check: exits 1 when a file does not hold what its schema says.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const generator = join(import.meta.dirname, '../src/ovsdb/schema/generate.ts');
const DESIRED = ['--rows', './row-types.ts'];
/** Tables that features claim: in another one no row can be desired. */
const NORTHBOUND = [
  'NB_Global', 'Copp', 'Logical_Switch', 'Logical_Switch_Port', 'Address_Set', 'Port_Group', 'Load_Balancer', 'Load_Balancer_Group',
  'ACL', 'QoS', 'Meter', 'Meter_Band', 'Logical_Router', 'Logical_Router_Port', 'Logical_Router_Static_Route', 'BFD', 'Logical_Router_Policy',
  'NAT', 'DHCP_Options', 'HA_Chassis_Group', 'HA_Chassis', 'Static_MAC_Binding', 'Chassis_Template_Var',
];
const SOUTHBOUND = ['Chassis', 'Encap'];

const files = [
  {
    file: 'src/topology/schema/northbound.generated.ts',
    args: ['ovn-nb.ovsschema', 'NorthboundRows', ...DESIRED, '--tables', NORTHBOUND.join()],
  },
  {
    file: 'src/topology/schema/southbound.generated.ts',
    args: ['ovn-sb.ovsschema', 'SouthboundRows', ...DESIRED, '--tables', SOUTHBOUND.join()],
  },
  { file: 'test/support/ovsdb/northbound.generated.ts', args: ['ovn-nb.ovsschema', 'Northbound'] },
];

for (const { file, args } of files) {
  const types = execFileSync(process.execPath, [generator, ...args], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  const text = `// Written by \`npm run generate\`. Edit the schema or the generator instead.\n${types}`;
  const target = join(import.meta.dirname, '..', file);
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text);
  } else if (readFileSync(target, 'utf8') !== text) {
    console.error(`${file} does not match schemas/${args[0]}: run \`npm run generate\``);
    process.exitCode = 1;
  }
}
