/** Ports of the logical network as Southbound has them, for whoever follows a packet: read once each. */
import { parseAddress, withoutPrefix } from '../allocators/addresses.ts';
import { mapIn, textIn, type LookedUpRow, type RowLookup } from '../databases/row-lookup.ts';

const COLUMNS = ['logical_port', 'type', 'mac', 'datapath', 'options', 'external_ids'];
const MAC = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i;

/** Whether two texts are one address, with or without a prefix length. */
export function isSameAddress(text: string, other: string): boolean {
  const one = parseAddress(withoutPrefix(text));
  const two = parseAddress(withoutPrefix(other));
  return (
    one !== undefined && two !== undefined && one.family === two.family && one.value === two.value
  );
}

/** `0a:58:0a:14:00:05 10.20.0.5` of a pod's port, and `… 10.20.0.1/16` of a router's, in its parts. */
function hardwareOf(row: LookedUpRow): { readonly mac: string; readonly addresses: string[] } {
  const { mac } = row.columns;
  const [text = ''] = Array.isArray(mac) ? mac.map(String) : [textIn(row, 'mac')];
  const [first = '', ...addresses] = text.split(/\s+/);
  return { mac: MAC.test(first) ? first : '', addresses };
}

export class PacketPorts {
  readonly #south: RowLookup;
  readonly #known = new Map<string, Promise<LookedUpRow | undefined>>();

  constructor(south: RowLookup) {
    this.#south = south;
  }

  named(name: string): Promise<LookedUpRow | undefined> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const found = this.#south
      .select('Port_Binding', [['logical_port', '==', name]], COLUMNS)
      .then(([row]) => row);
    this.#known.set(name, found);
    return found;
  }

  /** The MAC address of a port; of a switch's port to a router that of the router. */
  async macOf(name: string): Promise<string | undefined> {
    const port = await this.named(name);
    if (port === undefined) return undefined;
    const { mac } = hardwareOf(port);
    const behind = mac === '' ? await this.#behind(port) : undefined;
    return mac || behind?.mac || undefined;
  }

  async #behind(port: LookedUpRow): Promise<ReturnType<typeof hardwareOf> | undefined> {
    const peer = mapIn(port, 'options')['peer'];
    const row = peer === undefined ? undefined : await this.named(peer);
    return row && hardwareOf(row);
  }

  /** MAC address of the router behind a port of a switch, whatever addresses it has. */
  async routerOn(datapath: string): Promise<string | undefined> {
    for (const row of await this.#on(datapath)) {
      const behind = await this.#behind(row);
      if (behind !== undefined && behind.mac !== '') return behind.mac;
    }
    return undefined;
  }

  /** Of the switch of a port the port to the router with a MAC address. */
  async toRouter(inport: string, mac: string): Promise<string | undefined> {
    const port = await this.named(inport);
    if (port === undefined) return undefined;
    for (const row of await this.#on(textIn(port, 'datapath')))
      if ((await this.#behind(row))?.mac === mac) return textIn(row, 'logical_port');
    return undefined;
  }

  #on(datapath: string): Promise<readonly LookedUpRow[]> {
    return this.#south.select('Port_Binding', [['datapath', '==', ['uuid', datapath]]], COLUMNS);
  }

  /** MAC address of whoever has an address on a switch: a port of it, or the router behind one. */
  async macOn(datapath: string, address: string): Promise<string | undefined> {
    const has = ({ mac, addresses }: ReturnType<typeof hardwareOf>): boolean =>
      mac !== '' && addresses.some((text) => isSameAddress(text, address));
    for (const row of await this.#on(datapath)) {
      const own = hardwareOf(row);
      if (has(own)) return own.mac;
      const behind = await this.#behind(row);
      if (behind !== undefined && has(behind)) return behind.mac;
    }
    return undefined;
  }
}
