/** `dns-program.ts ADDRESS FILE`: a DNS server at port 53 that answers what the file says at that time, and nothing while there is none. */
import { readFileSync } from 'node:fs';
import { DnsServer, type DnsZone } from '../run/dns-server.ts';

const [address = '', file = ''] = process.argv.slice(2);
await DnsServer.listen(
  () => {
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as DnsZone;
    } catch {
      return undefined;
    }
  },
  address,
  53,
);
