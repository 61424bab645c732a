/** What ovn-trace printed (OVN 25.03, of zones that Heddle had written), as values: the way of the packet, and where it ends. */
import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  backendsOf,
  decisionsOf,
  traceEnds,
  type TraceEnd,
} from '../../../src/packets/trace-end.ts';
import { readTrace, TraceTextError, type TraceEvent } from '../../../src/packets/trace-text.ts';

const recorded = (name: string): string =>
  readFileSync(join(import.meta.dirname, `traces/${name}.txt`), 'utf8');

/** An end in a line. */
const endText = (end: TraceEnd): string => {
  switch (end.kind) {
    case 'output':
      return `output ${end.port}${end.type === '' ? '' : ` (${end.type})`}`;
    case 'dropped':
    case 'refused':
      return `${end.kind} by ${end.by.stage} ${end.by.priority}, at ${end.at.stage}`;
    case 'asks':
      return `asks in ${end.at.stage}`;
    case 'unknown':
      return `unknown: ${end.why}`;
  }
};
const endsOf = (text: string): readonly string[] => traceEnds(readTrace(text)).map(endText);

const decisions = (name: string): readonly string[] => {
  const events = readTrace(recorded(name));
  return decisionsOf(events, traceEnds(events)).map(
    ({ kind, step, text }) => `${kind} ${step.stage}${text === undefined ? '' : ` ${text}`}`,
  );
};

describe('where it ends', () => {
  test.each([
    ['policy-allows', 'output shop.net_shop_db'],
    ['policy-drops', 'dropped by ls_out_acl_eval 2000, at ls_out_acl_action'],
    ['answer', 'output shop.net_shop_web'],
    ['service', 'output shop.net_shop_web'],
    ['service-refuses', 'refused by ls_in_lb 120, at ls_in_lb'],
    ['firewall', 'dropped by ls_out_acl_eval 11000, at ls_out_acl_action'],
    ['outside', 'output br-ex_shop_net_n1 (localnet)'],
    ['connected', 'output green.net_green_web'],
    ['nobody', 'dropped by ls_in_l2_unknown 50, at ls_in_l2_unknown'],
  ])('%s: %s', (name, end) => {
    expect(endsOf(recorded(name))).toEqual([end]);
  });
});

describe('what decides something on the way', () => {
  test('a policy that drops', () => {
    expect(decisions('policy-drops')).toEqual(['drops ls_out_acl_eval']);
  });

  test('a policy that allows', () => {
    expect(decisions('policy-allows')).toEqual(['allows ls_out_acl_eval']);
  });

  test('a load balancer, with its endpoints', () => {
    expect(decisions('service')[0]).toBe('balances ls_in_lb to 10.30.0.4:8080');
    expect(decisions('service-of-two')[0]).toMatch(
      /^balances ls_in_lb to 10\.30\.0\.\d+:8080 or 10\.30\.0\.\d+:8080$/,
    );
    const endpoints = readTrace(recorded('service-of-two')).flatMap((event) =>
      event.kind === 'step' ? backendsOf(event) : [],
    );
    expect(endpoints).toHaveLength(2);
  });

  test('routes and the translation of the address on the way out', () => {
    expect(decisions('outside')).toEqual([
      'routes lr_in_ip_routing via 100.65.0.2 out of rtoj-shop_net_ovn_cluster_router',
      'routes lr_in_ip_routing via 172.18.0.1 out of rtoe-GR_shop_net_n1',
      'translates lr_out_snat from 169.254.0.11',
    ]);
  });

  test('a connection of networks', () => {
    expect(decisions('connected').filter((text) => text.startsWith('reroutes'))).toHaveLength(1);
  });
});

describe('the text', () => {
  const step = ' 0. ls_in_check_port_sec (northd.c:1): 1, priority 50, uuid cab36092';
  const title = 'ingress(dp="a", inport="b")';
  const trace = (...lines: readonly string[]): string =>
    ['# ip', '', title, '-'.repeat(title.length), ...lines].join('\n');

  test('a flow has its place, stage, match, priority and actions', () => {
    expect(readTrace(trace(step, '    reg0[15] = check_in_port_sec();', '    next;'))).toEqual([
      {
        kind: 'step',
        place: { pipeline: 'ingress', datapath: 'a', inport: 'b' },
        table: 0,
        stage: 'ls_in_check_port_sec',
        match: '1',
        priority: 50,
        uuid: 'cab36092',
        actions: ['reg0[15] = check_in_port_sec();', 'next;'],
      },
    ]);
  });

  test.each([
    [' 3. ls_in_l2_lkup: no match (implicit drop)', 'dropped by ls_in_l2_lkup 0, at ls_in_l2_lkup'],
    [' 3. no match (implicit drop)', 'dropped by  0, at '],
    [
      ` 8. lr_in_x: ip4.dst == {1.1.1.1, 2.2.2.2}, priority 5, uuid 0123abcd\n    drop;`,
      'dropped by lr_in_x 5, at lr_in_x',
    ],
    [
      ' 8. lr_in_arp_request (northd.c:1): eth.dst == 00:00:00:00:00:00, priority 100, uuid 0123abcd\n    arp { eth.dst = ff:ff:ff:ff:ff:ff; output; };\n\narp\n---\n    output;\n    /* output to "c", type "localnet" */',
      'asks in lr_in_arp_request',
    ],
    [
      ' 8. lr_in_unsnat (northd.c:1): ip4, priority 1, uuid 0123abcd\n    ct_snat;',
      'unknown: ovn-trace does not say where it ends',
    ],
    [
      ' 8. lr_in_ip_routing (northd.c:1): ip4, priority 1, uuid 0123abcd\n    ip.ttl--;\n    *** TTL underflow',
      'unknown: *** TTL underflow',
    ],
  ])('%s', (lines, end) => {
    expect(endsOf(trace(lines))).toEqual([end]);
  });

  test('a copy of a packet is none of it', () => {
    const lines = [
      step,
      '    clone { output; };',
      '',
      '    clone',
      '    -----',
      '            output;',
      '            /* output to "copy", type "localnet" */',
      '    next;',
      ' 1. ls_in_l2_lkup (northd.c:1): 1, priority 0, uuid 0123abcd',
      '    output;',
      '    /* output to "c", type "" */',
    ];
    expect(endsOf(trace(...lines))).toEqual(['output c']);
  });

  test.each(['', 'unknown port "x"', '# ip\nno trace'])('%j is no trace', (text) => {
    expect(() => readTrace(text)).toThrow(TraceTextError);
  });

  test('whatever stands there, something is read or it is no trace, and the end is known', () => {
    const lines = recorded('outside').split('\n');
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...lines, '', 'x', '----'), { maxLength: 40 }),
        (some) => {
          let events: readonly TraceEvent[] = [];
          try {
            events = readTrace(some.join('\n'));
          } catch (error) {
            expect(error).toBeInstanceOf(TraceTextError);
            return;
          }
          expect(traceEnds(events).length).toBeGreaterThan(0);
        },
      ),
    );
  });
});
