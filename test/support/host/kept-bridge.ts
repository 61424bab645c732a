/** A real ovs-vswitchd with an external bridge whose flows our driver keeps; what ovn-controller does, the test does. */
import { bridgePorts, PORT_COLUMNS } from '../../../src/node/openflow/bridge-ports.ts';
import { openDatabase, type OpenDatabase } from '../../../src/databases/open-database.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { FlowDriver } from '../../../src/node/openflow/flow-driver.ts';
import type { HostProblem } from '../../../src/node/reconcile/host-plan.ts';
import { bridgeFeatures, patchPortOf } from './bridge-zones.ts';
import { FeatureUnits } from './host-units.ts';
import { bridgeWords, Vswitchd } from './vswitchd.ts';
import type { Zone } from '../zone/zones.ts';

export const BRIDGE = 'breth0';
export const MAC = '02:42:ac:12:00:03';

interface Opened {
  readonly database: OpenDatabase;
  readonly driver: FlowDriver;
  readonly units: FeatureUnits;
}

export class KeptBridge implements AsyncDisposable {
  readonly vswitchd: Vswitchd;
  /** How often something was heard of that we did not do. */
  drifts = 0;
  #opened: Opened | undefined;

  private constructor(vswitchd: Vswitchd) {
    this.vswitchd = vswitchd;
  }

  static async start(signal: AbortSignal): Promise<KeptBridge> {
    const kept = new KeptBridge(await Vswitchd.start());
    await kept.open(signal);
    return kept;
  }

  /** Begins to keep flows, as another process does after `close`. */
  async open(signal: AbortSignal): Promise<void> {
    const { vswitchd } = this;
    const database = openDatabase({
      name: 'Open_vSwitch',
      flag: '--ovs',
      remotes: vswitchd.database.remote,
      tls: {},
      tables: () =>
        Object.fromEntries(
          Object.entries(PORT_COLUMNS).map(([table, columns]) => [table, { columns }]),
        ),
      log: createLogger('silent'),
    });
    await database.ready(signal);
    const driver = new FlowDriver({
      ofctl: vswitchd.ofctl,
      ports: bridgePorts(() => database.replica),
      onDrift: () => (this.drifts += 1),
    });
    driver.start();
    this.#opened = { database, driver, units: new FeatureUnits(driver, bridgeFeatures) };
  }

  async close(): Promise<void> {
    this.#opened?.driver[Symbol.dispose]();
    await this.#opened?.database[Symbol.asyncDispose]();
    this.#opened = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await this.vswitchd[Symbol.asyncDispose]();
  }

  get units(): FeatureUnits {
    return this.#open.units;
  }

  get driver(): FlowDriver {
    return this.#open.driver;
  }

  get database(): OpenDatabase {
    return this.#open.database;
  }

  get #open(): Opened {
    if (this.#opened === undefined) throw new Error('the bridge is not kept now');
    return this.#opened;
  }

  /** Makes the bridge of a zone, with uplink 1 and patch ports of its networks from 2 on. */
  make(zone: Zone): Promise<string> {
    return this.vswitchd.vsctl(...bridgeWords(BRIDGE, MAC, zone.networks.map(patchPortOf)));
  }

  /** Applies until nothing is left to do. */
  async settled(
    isComplete = true,
  ): Promise<{ readonly applied: number; readonly problems: readonly HostProblem[] }> {
    const { driver } = this.#open;
    let applied = 0;
    for (let round = 0; round < 20; round += 1) {
      await driver.refresh(performance.now());
      const plan = driver.plan(performance.now(), isComplete ? undefined : () => true);
      if (plan.isEmpty) return { applied, problems: plan.problems };
      applied += (await driver.apply(plan, performance.now())).applied;
    }
    const left = driver
      .plan(performance.now(), isComplete ? undefined : () => true)
      .changes.slice(0, 6);
    throw new Error(
      `flows are not as they should be after 20 rounds: ${JSON.stringify(left, undefined, 1)}`,
    );
  }
}
