/** `heddle cleanup`: takes what is ours off the host of a node. */
import type { Command } from 'commander';
import { ConfigurationError } from '../process/configuration-error.ts';
import { hostPlansText, openHost } from '../zone/host.ts';
import { createLogger } from '../process/logger.ts';
import { until, within } from '../process/waiting.ts';
import { addSettings, configurationOf } from './options.ts';
import { printLines } from './output.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('cleanup')
      .description(
        'take management ports, VRFs, routes, rules, neighbours, flows, the nftables tables, the external bridge and the settings of ovn-controller of Heddle off this host',
      )
      .option('--dry-run', 'only show what would go')
      .addHelpText(
        'after',
        '\nNeeds --ovs alone. Stop heddle node first: while it runs it holds the lock, and nothing is removed.\nDatabases of OVN are left as they are.',
      ),
    ['where', 'tls', 'behaviour'],
  ).action(async (options: { readonly dryRun?: boolean }, command: Command) => {
    const configuration = configurationOf(command);
    const { ovs, timeout, logLevel } = configuration;
    if (ovs === undefined)
      throw new ConfigurationError(
        '--ovs',
        "is required: the node's own Open_vSwitch database, as unix:/run/openvswitch/db.sock",
      );
    const mayWrite = options.dryRun !== true;
    await using host = openHost({
      configuration,
      openVswitch: ovs,
      mayWrite,
      log: createLogger(logLevel === 'info' ? 'error' : logLevel),
      onWork: () => undefined,
    });
    await within(timeout, async (signal) => {
      await host.openVswitch.ready(signal, { isImpatient: true });
      await host.start();
      // Nothing is wanted, and that is known.
      printLines(hostPlansText(await host.controller.plans()));
      const removals = host.removalsText();
      if (removals !== '') printLines(`External bridge\n${removals}`);
      const guard = await host.uplinkGuardText();
      if (guard !== '') printLines(`Uplink\n${guard}`);
      const settings = host.chassisRemovals();
      if (settings.length > 0) printLines(`Chassis\n${settings.join('\n')}`);
      if (!mayWrite) return;
      await until(
        async () => {
          const blocked = await host.controller.flush(undefined, signal);
          return blocked === undefined;
        },
        signal,
        'what is ours to go',
      );
      const refused = host.controller.problems();
      if (refused.length > 0)
        throw new CleanupError(refused.map(({ message }) => message).join('; '));
      await host.removeBridges();
      const kept = await host.removeUplinkGuard();
      if (kept !== undefined) throw new CleanupError(kept);
      await host.removeChassisSettings();
    });
  });
}

/** Something of ours could not be removed. */
class CleanupError extends Error {
  readonly code = 'NOT_REMOVED';
}
