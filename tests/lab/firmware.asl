// What the firmware of a machine of metal tells of two processors: frequencies, set through ports that nothing listens
// to, and idle states, each of them a halt.
DefinitionBlock ("", "SSDT", 2, "NUMATN", "METAL", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)

    Scope (\_SB)
    {
        Name (PCTL, Package ()
        {
            ResourceTemplate () { Register (SystemIO, 16, 0, 0x0900) },
            ResourceTemplate () { Register (SystemIO, 16, 0, 0x0902) }
        })

        // MHz, mW, µs to change, µs without memory, what is written for it, what is read then
        Name (PSTS, Package ()
        {
            Package () { 2400, 0, 10, 10, 0x18, 0x18 },
            Package () { 1600, 0, 10, 10, 0x10, 0x10 },
            Package () { 800, 0, 10, 10, 0x08, 0x08 }
        })

        // how it is entered, its kind, µs to wake up, mW
        Name (CSTS, Package ()
        {
            2,
            Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 1, 0 },
            Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 200, 0 }
        })
    }

    Scope (\_SB.CPUS.C000)
    {
        Method (_PCT) { Return (\_SB.PCTL) }
        Method (_PSS) { Return (\_SB.PSTS) }
        Method (_PPC) { Return (0) }
        Method (_CST) { Return (\_SB.CSTS) }
    }

    Scope (\_SB.CPUS.C001)
    {
        Method (_PCT) { Return (\_SB.PCTL) }
        Method (_PSS) { Return (\_SB.PSTS) }
        Method (_PPC) { Return (0) }
        Method (_CST) { Return (\_SB.CSTS) }
    }
}
