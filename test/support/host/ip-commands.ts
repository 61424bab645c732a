/** What a plan asks the kernel for, as commands of ip(8): the floor that its cost is compared with. */
import { familyOf, type Family } from '../../../src/allocators/addresses.ts';
import type { LinuxCommand } from '../../../src/node/linux/linux-change.ts';
import { routeArguments, ruleArguments } from '../../../src/node/linux/linux-rows.ts';
import { PROTOCOL } from '../../../src/node/numbers.ts';

interface IpCommand {
  readonly family: Family;
  readonly words: readonly string[];
}

function ipCommand(command: LinuxCommand): IpCommand {
  const own = String(PROTOCOL);
  const [verb = ''] = command.kind.split('-');
  switch (command.kind) {
    case 'add-vrf': {
      const { name, table } = command;
      return {
        family: 'v4',
        words: ['link', 'add', 'name', name, 'type', 'vrf', 'table', String(table)],
      };
    }
    case 'set-link': {
      const { name, isUp, alias, master } = command;
      const words = ['link', 'set', 'dev', name];
      if (alias !== undefined) words.push('alias', `"${alias}"`);
      if (master !== undefined) words.push(...(master === '' ? ['nomaster'] : ['master', master]));
      if (isUp !== undefined) words.push(isUp ? 'up' : 'down');
      return { family: 'v4', words };
    }
    case 'delete-link':
      return { family: 'v4', words: ['link', 'delete', 'dev', command.name] };
    case 'add-address':
    case 'delete-address': {
      const { dev, address, deprecated } = command.address;
      const family = familyOf(address);
      return {
        family,
        words: [
          'address',
          verb,
          address,
          'dev',
          dev,
          ...(family === 'v6' ? ['nodad'] : []),
          ...(deprecated === true ? ['valid_lft', 'forever', 'preferred_lft', '0'] : []),
          'proto',
          own,
        ],
      };
    }
    case 'add-route':
    case 'delete-route': {
      const { route } = command;
      const where = ['table', String(route.table), 'proto', own];
      return { family: route.family, words: ['route', verb, ...routeArguments(route), ...where] };
    }
    case 'add-rule':
    case 'delete-rule': {
      const { rule } = command;
      const words = ['rule', verb, ...ruleArguments(rule), 'protocol', own];
      return { family: rule.family, words };
    }
    case 'replace-neighbour':
    case 'delete-neighbour': {
      const { address, mac, dev } = command.neighbour;
      const words = ['neighbour', verb, address, 'lladdr', mac, 'dev', dev];
      return { family: familyOf(address), words: [...words, 'nud', 'permanent', 'protocol', own] };
    }
  }
}

/** Lines of a batch file for each family. */
export const batchLines = (
  commands: readonly LinuxCommand[],
): ReadonlyMap<'inet' | 'inet6', readonly string[]> => {
  const all = Map.groupBy(commands.map(ipCommand), ({ family }) => family);
  return new Map(
    [...all].map(([family, some]) => [
      family === 'v6' ? 'inet6' : 'inet',
      some.map(({ words }) => words.join(' ')),
    ]),
  );
};
